"""`python -m postroom.daemon HOME`: what `postroom up` starts."""

import sys

from postroom.daemon.loop import serve

if __name__ == "__main__":
    serve(sys.argv[1])
