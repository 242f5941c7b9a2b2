"""`python -m postroom.daemon HOME`: what `postroom up` starts."""

import sys

from postroom.daemon.instance import TAKEN
from postroom.daemon.loop import serve
from postroom.errors import PostroomError

if __name__ == "__main__":
    try:
        serve(sys.argv[1])
    except PostroomError as exc:
        sys.stderr.write(f"{exc}\n")
        sys.exit(TAKEN if exc.facts.get("taken") else 1)
