"""Where a room's daemon keeps its files, and whether one runs. It costs nothing to load."""

from postroom import config, host

TURNED_OFF = "it is turned off: http_port is 0"  # why there is no page, and all is well


def lock_path(home: str) -> str:
    return config.beside(home, "daemon.lock")


def log_path(home: str) -> str:
    return config.beside(home, "daemon.log")


def running(home: str) -> str:
    """The process that is the room's daemon, as `host.identity` names it; empty: there is none."""
    try:
        with open(lock_path(home), encoding="ascii") as file:
            found = file.read().strip()
    except (OSError, ValueError):
        return ""
    return "" if not found or host.is_gone(found) else found
