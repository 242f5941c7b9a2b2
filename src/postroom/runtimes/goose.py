"""goose (1.52.0): of what its hooks print, it passes on only the reason why a turn must not end.

So mail is shown at the end of a turn, and proven by the next end. It calls that a policy that must be
addressed; what the frame says of whose words they are stands there, too. Stop also comes when no model has
answered: it then has no last message.

The file that it reads into each prompt (GOOSE_MOIM_MESSAGE_FILE) is named by the environment and so, as a
rule, the same for all sessions of a user: mail for one would be shown to whichever prompts next.
"""

from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Failure, Kind, Point, Runtime, Said, Words, text
from postroom.runtimes.shape import beat, context

if TYPE_CHECKING:
    from postroom.runtimes.acp import Acp
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.wiring import Edit, Place, Wiring


def read(event: str, stdin: Json) -> Beat:
    found = beat(event, stdin)._replace(cwd=text(stdin, "working_dir"), prompt=text(stdin, "message"))
    if event == "Stop" and not text(stdin, "last_assistant_message"):
        return found._replace(proves=False, failure=Failure("goose got no answer from its model."))
    return found


def say(point: Point, words: Words) -> Said:
    return context(point, words) if point.kind is Kind.STOP else Said()


RUNTIME = Runtime(
    name="goose",
    title="goose",
    points=(
        Point("SessionStart", Kind.START),
        Point("UserPromptSubmit", Kind.PROMPT),
        Point("Stop", Kind.STOP, ("Stop",)),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=say,
    session_env="AGENT_SESSION_ID",
    programs=("goose",),
    remark="It takes mail at the end of a turn only, and nothing wakes it when it is idle.",
)


def profile() -> "Profile":
    from postroom.runtimes.screen import Composer, Dialog, Look, Profile  # noqa: PLC0415 - for terminals

    # A further line of a draft can begin as the first does: an empty one is known by its placeholder.
    hint = r"(?:Enter to send|Press Ctrl\+C again|Interrupted, what)"
    return Profile(
        Composer(r"> ", more=r"", empty=hint, ghost=(Look(dim=True),)),
        busy=(  # at the end: it scrolls away
            r"^[◐◓◑◒] [^\n]*\s*\Z",
            r"^  ▸ [^\n]*\n(?:    [^\n]*\n)*\s*\Z",
            r"^◇  Goose would like to call the above tool[^\n]*\n│  [^\n]*\n│?\s*\Z",  # what it was allowed
        ),
        # One that was answered stays on the screen, and begins otherwise.
        dialogs=(Dialog("permission", r"^(?![■◇]  )[^\n]*Goose would like to call the above tool"),),
        stop=("C-c",),  # once; when idle once asks for a second, which ends it
    )


def acp() -> "Acp":
    from postroom.runtimes.acp import Acp  # noqa: PLC0415 - hooks do without it

    return Acp("acp", failed=r"(?:Ran into this|Network) error: ")


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(_edits)


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import Edit, Purpose, nested  # noqa: PLC0415

    path = f"{place.project or place.user}/.agents/plugins/postroom/hooks/hooks.json"
    return [Edit(path, {"hooks": nested(RUNTIME, place)}, Purpose.HOOKS)]
