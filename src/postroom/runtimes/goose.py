"""goose (1.52.0): it tells its hooks what happens, and shows its model nothing of what they print.

The file that it reads into each prompt (GOOSE_MOIM_MESSAGE_FILE) is named by the environment and so, as a
rule, the same for all sessions of a user: mail for one would be shown to whichever prompts next. So its
sessions are known and may send, and what is for them waits until they take it, or a terminal types it.
"""

from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Point, Runtime, text
from postroom.runtimes.shape import beat, nothing

if TYPE_CHECKING:
    from postroom.runtimes.wiring import Edit, Place, Wiring


def read(event: str, stdin: Json) -> Beat:
    return beat(event, stdin)._replace(cwd=text(stdin, "working_dir"), prompt=text(stdin, "message"))


RUNTIME = Runtime(
    name="goose",
    title="goose",
    points=(
        Point("SessionStart", Kind.START),
        Point("UserPromptSubmit", Kind.PROMPT),
        Point("Stop", Kind.STOP),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=nothing,
    session_env="AGENT_SESSION_ID",
    programs=("goose",),
    remark="It shows its model nothing that a hook says: it can send, and its mail waits until it is read.",
)


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(_edits)


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import Edit, nested  # noqa: PLC0415

    path = f"{place.project or place.user}/.agents/plugins/postroom/hooks/hooks.json"
    return [Edit(path, {"hooks": nested(RUNTIME, place)}, "the hooks that tell the room of its sessions")]
