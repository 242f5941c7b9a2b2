"""`python -m postroom.daemon HOME`: what `postroom up` starts."""

import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it can be obeyed: it would be the end

    from postroom.daemon.instance import TAKEN
    from postroom.daemon.loop import serve
    from postroom.errors import PostroomError

    try:
        serve(sys.argv[1])
    except PostroomError as exc:
        sys.stderr.write(f"{exc}\n")
        sys.exit(TAKEN if exc.facts.get("taken") else 1)
