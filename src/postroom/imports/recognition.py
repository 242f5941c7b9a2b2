"""What a path holds that can be brought in."""

import os
from collections.abc import Mapping

from postroom.config import Settings
from postroom.errors import InvalidValue, NotFound, PostroomError
from postroom.imports import agentcomms, document, mailbox, orchestrator, sqlite_queue, tree
from postroom.imports.plan import Agents, Kind, Mail

_FILES = ("agent-orchestrator.yaml", "agent-orchestrator.yml", "config.yaml", "config.yml", "config.json")
_READERS = {Kind.ORCHESTRATOR: orchestrator, Kind.AGENTCOMMS: agentcomms}
_HINT = (
    "There must be an agentcomms config, an agent-orchestrator.yaml, or mailboxes (DIR/<agent>/inbox/*.json)"
    " or a SQLite file with a table of messages;"
    " what it is can be said: --kind KIND"
)


def plan(path: str, kind: str, settings: Settings, home: str, renamed: Mapping[str, str]) -> Agents | Mail:
    """What would be brought in from there; what it is need not be said."""
    if not os.path.lexists(path):
        raise NotFound(f"there is no {path}", path=path, hint="Name a file or a directory.")
    source = os.path.abspath(path)
    if kind == Kind.MAILBOX or (not kind and os.path.isdir(path) and tree.is_tree(path)):
        if not os.path.isdir(path) or not tree.is_tree(path):
            raise InvalidValue(f"there are no mailboxes in {path}", path=path, hint=_HINT)
        return mailbox.plan(tree.read(source), source, settings, home, renamed)
    file = config_at(path)
    if kind == Kind.QUEUE or (not kind and sqlite_queue.is_queue(file)):
        if not sqlite_queue.is_queue(file):
            raise InvalidValue(f"{file} is no SQLite file", path=file, hint=_HINT)
        return sqlite_queue.plan(file, settings, home, renamed)
    found = document.read(file)
    chosen = (
        Kind(kind)
        if kind
        else next((one for one, reader in _READERS.items() if reader.looks_so(found)), None)
    )
    if chosen is None or not _READERS[chosen].looks_so(found):
        raise InvalidValue(f"{file} is not known as a config of another tool", path=file, hint=_HINT)
    return _READERS[chosen].plan(found, file, dict(renamed))


def is_queue(path: str) -> bool:
    return sqlite_queue.is_queue(path)


def aside(path: str, source: str) -> list[str]:
    """What else in a directory could be brought in, where only `source` is: one call brings in one thing."""
    directory = os.path.abspath(path)
    if not os.path.isdir(directory):
        return []
    files = [os.path.join(directory, name) for name in _FILES]
    return [one for one in files if one != source and os.path.isfile(one) and _is_known(one)]


def _is_known(file: str) -> bool:
    try:
        found = document.read(file)
    except PostroomError:
        return False
    return any(reader.looks_so(found) for reader in _READERS.values())


def config_at(path: str) -> str:
    """The config that a path means: a file, or what lies in a directory under one of the usual names."""
    directory = os.path.abspath(path)
    if not os.path.isdir(directory):
        return directory
    for name in _FILES:
        if os.path.isfile(file := os.path.join(directory, name)):
            return file
    raise InvalidValue(f"nothing in {directory} can be imported", path=directory, hint=_HINT)
