"""A program that waits for files in a directory, and tells when each was in its hand.

    python -m benchmarks.reader DIRECTORY

It sleeps on inotify. A file begins to count when it takes its name; what was read is removed.
"""

import os
import select
import sys
import time

from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Folder
from postroom.bridges.files.watch import Side


def main(tree: str, name: str) -> None:
    shelf = LocalShelf(tree, name, Side.AGENT)
    print("ready", flush=True)
    shelf.changes()
    poll = select.poll()
    poll.register(shelf.fileno(), select.POLLIN)
    inbox = os.path.join(tree, name, "inbox")
    while True:
        for each in shelf.names(Folder.INBOX):
            if each.endswith(".json"):
                with open(os.path.join(inbox, each), "rb") as file:
                    file.read()
                print(time.monotonic_ns(), flush=True)
                os.rename(os.path.join(inbox, each), os.path.join(inbox, "processed", each))
        poll.poll()
        shelf.changes()


if __name__ == "__main__":
    main(*sys.argv[1:])
