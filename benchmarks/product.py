"""Our own command, as a user has it: installed beside the interpreter that runs the benchmark."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence

PROJECT = "bench"
STORE = "room.db"


def command() -> str:
    """The path of `postroom`; empty where it is not installed."""
    return shutil.which("postroom", path=os.path.dirname(sys.executable)) or ""


def environment(home: str) -> Mapping[str, str]:
    """The user's environment with a room of its own, and no agent of his to be found in it.

    What is sent is counted, as it is for a user, but never too much.
    """
    unwanted = ("POSTROOM_", "PYTHONDONTWRITEBYTECODE")  # an installed package has its bytecode
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**kept, "POSTROOM_HOME": home, "POSTROOM_PROJECT": PROJECT, "POSTROOM_SENDER_RATE": "1000000"}


def lift_limits() -> None:
    """For this process and its children: no peer counts what anybody sends, or what waits for anybody."""
    os.environ["POSTROOM_SENDER_RATE"] = os.environ["POSTROOM_RECIPIENT_QUOTA"] = "0"


def shell() -> str:
    return shutil.which("sh") or "/bin/sh"


def send(home: str, sender: str, to: str, body: str) -> None:
    import postroom

    with postroom.open(home, project=PROJECT) as room:
        room.send(to, body, sender=sender)


def create_room(home: str, agents: Sequence[str]) -> None:
    import postroom

    room = postroom.open(home, project=PROJECT)
    for agent in agents:
        room.join(agent)
    room.close()
