"""Notes that a room keeps of trees, beside itself: of each tree at most one of a kind."""

import json
import os
from hashlib import sha256

from postroom import config, host
from postroom.model.message import Json


def put(home: str, kind: str, place: str, facts: Json) -> None:
    """Over the one there is. Who changes what one says has the room's lock meanwhile, as others may, too."""
    host.private_directory(config.beside(home, kind))
    host.replace(_path(home, kind, place), json.dumps(facts).encode())


def get(home: str, kind: str, place: str) -> Json:
    """Empty where there is none that can be read."""
    return _read(_path(home, kind, place))


def every(home: str, kind: str) -> list[Json]:
    """All of a kind that can be read."""
    try:
        names = sorted(os.listdir(config.beside(home, kind)))
    except OSError:
        return []
    return [facts for name in names if name[0] != "." and (facts := _read(config.beside(home, kind, name)))]


def has(home: str, kind: str, place: str) -> bool:
    """Whether there is one, whatever it says."""
    return os.path.exists(_path(home, kind, place))


def remove(home: str, kind: str, place: str) -> bool:
    """Whether there was one."""
    try:
        os.unlink(_path(home, kind, place))
    except FileNotFoundError:
        return False
    return True


def _read(path: str) -> Json:
    try:
        with open(path, encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError, TypeError):
        return {}


def _path(home: str, kind: str, place: str) -> str:
    return config.beside(home, kind, sha256(os.fsencode(place)).hexdigest()[:16])
