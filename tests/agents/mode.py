"""The modes and pickers of each CLI in which a text would go elsewhere than to the agent."""

from typing import NamedTuple


class Mode(NamedTuple):
    """Keys by name, texts to type or scripts to submit, and what the screen has then."""

    enter: tuple[str, ...]
    shown: str
    leave: tuple[str, ...] = ("Escape",)
    case: str = ""  # under which it is kept, where that is not `mode-NAME`


_CLEAR = ("C-u",)
_QUESTION = (
    '[[tool AskUserQuestion {"questions": [{"question": "Which one?", "header": "Pick", '
    '"multiSelect": false, '
    '"options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]}]}]] [[say PICKED]]'
)

MODES: dict[str, dict[str, Mode]] = {
    "claude": {
        "command": Mode(("/",), r"/add-dir", _CLEAR),
        "file": Mode(("@",), r"\+ \.git/", _CLEAR),
        "shell": Mode(("!",), r"for shell mode", ("BSpace",)),
        "help": Mode(("?",), r"double tap esc", ("BSpace",), "idle-help"),
        "plan": Mode(("BTab", "BTab"), r"plan mode on", ("BTab", "BTab"), "idle-plan"),
        "transcript": Mode(("C-o",), r"detailed transcript", ("C-o",)),
        "model": Mode(("/model", "Enter"), r"Select model"),
        "resume": Mode(("/resume", "Enter"), r"Resume session"),
        "history": Mode(("C-r",), r"Search prompts"),
        "rewind": Mode(("Escape", "Escape"), r"Rewind"),
        "agents": Mode(("Left",), r"describe a task"),
        "question": Mode((_QUESTION,), r"Type something", case="dialog-question"),
    },
    "codex": {
        "command": Mode(("/",), r"/permissions", _CLEAR),
        "file": Mode(("@",), r"Type to search", ("Escape", "C-u")),
        "skill": Mode(("$",), r"enter insert", ("Escape", "C-u")),
        "shell": Mode(("!",), r"Shell mode", ("BSpace",)),
        "help": Mode(("?",), r"Edit last message", ("?",), "idle-help"),
        "plan": Mode(("BTab",), r"Plan mode", ("BTab",), "idle-plan"),
        "model": Mode(("/model", "Enter"), r"Select Model"),
        "history": Mode(("C-r",), r"reverse-i-search"),
        "agents": Mode(("Left",), r"enter open"),
        "rewind": Mode(("[[say BACK]]", "Escape", "Escape"), r"Browsing transcript"),
    },
    "gemini": {
        "command": Mode(("/",), r"Clear the screen", _CLEAR),
        "file": Mode(("@",), r"generalist", _CLEAR),
        "shell": Mode(("!",), r"shell mode enabled"),
        "plan": Mode(("BTab", "BTab"), r"plan Shift", ("BTab",), "idle-plan"),
        "model": Mode(("/model", "Enter"), r"Select Model"),
        "history": Mode(("C-r",), r"\(r:\)"),
    },
    "qwen": {
        "command": Mode(("/",), r"btw", _CLEAR),
        "file": Mode(("@",), r"(?m)^> @", _CLEAR),
        "shell": Mode(("!",), r"(?i)shell mode"),
        "yolo": Mode(("BTab",), r"YOLO mode", ("BTab",), "idle-yolo"),
        "help": Mode(("?",), r"(?i)to clear|shell", ("?",), "idle-help"),
        "model": Mode(("/model", "Enter"), r"(?i)select model"),
        "history": Mode(("C-r",), r"\(r:\)"),
    },
    "copilot": {
        "command": Mode(("/",), r"/add-dir", _CLEAR),
        "file": Mode(("@",), r"(?m)^\u276f @", _CLEAR),
        "shell": Mode(("!",), r"(?m)^!|[Ss]hell", ("BSpace",)),
        "plan": Mode(("BTab",), r"(?i)plan", ("BTab", "BTab"), "idle-plan"),
        "model": Mode(("/model", "Enter"), r"(?i)select model|model"),
        "help": Mode(("?",), r"(?i)shortcut|help", ("Escape", "C-u"), "mode-help"),
    },
    "opencode": {
        "command": Mode(("/",), r"/models", ("Escape", "C-u")),
        "file": Mode(("@",), r"(?m)┃  @", ("Escape", "C-u")),
        "shell": Mode(("!",), r"(?i)shell"),
        "plan": Mode(("Tab",), r"Plan", ("Tab",), "idle-plan"),
        "palette": Mode(("C-p",), r"(?i)commands"),
        "model": Mode(("/models", "Enter"), r"(?i)select model"),
    },
    "goose": {
        "command": Mode(("/",), r"(?m)^> /", _CLEAR),
    },
    "aider": {
        "command": Mode(("/",), r"/add", ("Escape", "C-u")),
        "history": Mode(("C-r",), r"(?i)search", ("C-g", "C-u")),
    },
}
