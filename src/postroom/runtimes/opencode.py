"""opencode (1.18.33), whose hooks are functions of a plugin: `opencode.js`, beside this module.

The plugin tests the quiet marker and leaves the signs of life itself, so that no mail costs no process. What
it tells the hook is in our words already. It may not be told of mail in the greeting of a session, which is
shown with the first message, because a session may never get one.

An answer proves what was offered if it began after the hand-over: the one whose tools were running then ends
later, too, and proves nothing. The plugin sends that event only for such answers. The end of a turn proves
nothing either: it comes after a failure, too.
"""

from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Point, Runtime, Said, Wake, Words, text
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.runtimes.acp import Acp
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.wiring import Edit, Place, Wiring

_ANSWERED = ("message.updated",)


def read(_event: str, stdin: Json) -> Beat:
    return Beat(
        session=text(stdin, "session"),
        child=text(stdin, "child"),
        child_type=text(stdin, "child_type"),
        cwd=text(stdin, "cwd"),
        source=text(stdin, "source"),
        prompt=text(stdin, "prompt"),
    )


def say(_point: Point, words: Words) -> Said:
    said = {name: value for name, value in words._asdict().items() if value}
    return Said(encode(said)) if said else Said()


RUNTIME = Runtime(
    name="opencode",
    title="opencode",
    points=(
        Point("session.created", Kind.START),
        Point("chat.message", Kind.PROMPT, _ANSWERED),
        Point("tool.execute.after", Kind.TOOL, _ANSWERED),
        Point("message.updated", Kind.MODEL),
        Point("session.idle", Kind.STOP, _ANSWERED),
        Point("session.child", Kind.CHILD),
        Point("child.idle", Kind.CHILD_STOP),
        Point("permission.asked", Kind.PERMISSION),
        Point("session.deleted", Kind.END),
    ),
    read=read,
    say=say,
    session_env="OPENCODE_SESSION_ID",
    signs=("OPENCODE",),
    wake=Wake.WATCH,
    programs=("opencode",),
    server="opencode",
    remark="`opencode run` ends with its turn: what comes in its last moment waits for the next session.",
)


def profile() -> "Profile":
    from postroom.runtimes.screen import Composer, Dialog, Fold, Look, Most, Profile  # noqa: PLC0415 - for terminals

    bar, typed = r"\s*┃ {0,2}", (Look(background="48;5;234"), Look(background="48;5;215"))
    composer = Composer(
        bar, more=bar, above=r"(?!\s*┃)", below=r"\s*╹▀", foot=r"\s*┃  \S+ · ",
        ground=typed, ghost=(Look(foreground="38;5;8"),), most=Most(1 / 3),
    )  # fmt: skip
    return Profile(
        composer,
        busy=(r"esc interrupt", r"esc again to interrupt"),
        dialogs=(Dialog("permission", r"Permission required"),),
        pasted=r"\[Pasted ~(?P<lines>\d+) lines\]",
        folds=Fold(lines=3, chars=151),
        bare=100,
        stop=("Escape", "Escape"),  # apart, within five seconds; when idle they do nothing
        queues=True,
    )


def acp() -> "Acp":
    from postroom.runtimes.acp import Acp  # noqa: PLC0415 - hooks do without it

    return Acp("acp")


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(_edits, headless=("run",), tools=_tools)


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.plugin import program  # noqa: PLC0415
    from postroom.runtimes.wiring import Edit, Purpose  # noqa: PLC0415

    folder = f"{place.project}/.opencode" if place.project else _own(place)
    text = program(RUNTIME.name, place.room)
    return [Edit(f"{folder}/plugin/postroom.js", text, Purpose.PLUGIN)]


def _tools(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import served  # noqa: PLC0415

    said = place.tools()
    server = {
        "type": "local", "command": [said["command"], *said["args"]], "environment": said["env"],
        "enabled": True,
    }  # fmt: skip
    return served(f"{place.project or _own(place)}/opencode.json", "mcp", value=server)


def _own(place: "Place") -> str:
    config = place.environment.get("XDG_CONFIG_HOME") or f"{place.user}/.config"
    return f"{config}/opencode"
