"""Where a room's daemon keeps its files, and whether one runs. It costs nothing to load."""

from postroom import config
from postroom.home import daemon

TURNED_OFF = "it is turned off: http_port is 0"  # why there is no page, and all is well


def lock_path(home: str) -> str:
    return config.beside(home, "daemon.lock")


def log_path(home: str) -> str:
    return config.beside(home, "daemon.log")


def running(home: str) -> str:
    """The process that is the room's daemon, as `host.identity` names it; empty: there is none."""
    return daemon(home)
