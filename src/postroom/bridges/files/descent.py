"""The way down into folders that somebody else may turn into anything at any time: no link is followed."""

import os

FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
BELOW = FOLDER | getattr(os, "O_NOFOLLOW", 0)


def below(directory: int, folder: str) -> int:
    """A folder below one, which is closed; that one itself where it is empty."""
    for part in folder.split("/") if folder else ():
        above = directory
        try:
            directory = os.open(part, BELOW, dir_fd=above)
        finally:
            os.close(above)
    return directory
