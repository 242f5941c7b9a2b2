"""One agent of the demo as a process of its own: `python -m postroom.demo.agent NAME PACE [STUCK_ON]`."""

import os
import sys
from threading import Thread

from postroom.demo.script import BUILDER, PARTS, Pace, enter
from postroom.room.local import open_room


def main(name: str, pace: str, stuck_on: str = "") -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    room = open_room(agent=name)
    enter(room, name)
    if name == BUILDER:
        PARTS[name](room, Pace(float(pace)), stuck_on=stuck_on)
    else:
        PARTS[name](room, Pace(float(pace)))
    room.leave()
    room.close()


def _end_with_parent() -> None:
    """Standard input is a pipe from the demo: however that ends, this process does not outlive it."""
    os.read(0, 1)  # not sys.stdin: its lock would be held while the interpreter ends
    os._exit(1)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        os._exit(130)  # the demo was interrupted, and says so itself
