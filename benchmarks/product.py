"""Our own command, as a user has it: installed beside the interpreter that runs the benchmark."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence

PROJECT = "bench"
STORE = "room.db"

STUB = """r='{run}'; k="p$PPID"
echo PostToolUse 2>/dev/null >"$r/life/$k"
[ "$r/quiet/s/$k" -nt /proc/self ] && exit 0
exit 1
"""


def command() -> str:
    """The path of `postroom`; empty where it is not installed."""
    return shutil.which("postroom", path=os.path.dirname(sys.executable)) or ""


def environment(home: str) -> Mapping[str, str]:
    """The user's environment with a room of its own, and no agent of his to be found in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
    return {**kept, "POSTROOM_HOME": home, "POSTROOM_PROJECT": PROJECT}


def quiet_stub(home: str, agent: str) -> str:
    """The hook's shell text, for an agent that has been promised quiet and whose session is our child."""
    import postroom

    room = postroom.open(home, project=PROJECT)
    room.hush(agent)
    run = os.path.join(home, "run")
    for folder in ("life", "quiet/s"):
        os.makedirs(os.path.join(run, folder), exist_ok=True)
    os.symlink(f"../a/{room.who(agent).id}", os.path.join(run, f"quiet/s/p{os.getpid()}"))
    room.close()
    return STUB.format(run=run)


def create_room(home: str, agents: Sequence[str]) -> None:
    import postroom

    room = postroom.open(home, project=PROJECT)
    for agent in agents:
        room.join(agent)
    room.close()
