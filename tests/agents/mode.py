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
    '[[tool AskUserQuestion {"questions": [{"question": "Which one?", "header": "Pick", "multiSelect": false, '
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
        "rewind": Mode(("Escape", "Escape"), r"Browsing transcript"),
    },
}
