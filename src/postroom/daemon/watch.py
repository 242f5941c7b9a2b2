"""What is watched for whom: one file each, beside the room, until it is stopped or its pane is gone."""

import json
import os
import re
import secrets
from typing import NamedTuple

from postroom import config, host
from postroom.errors import InvalidValue

_FOLDER, _PIPES = "watches", "pipes"
_LONGEST = 500  # characters of a pattern


class Watch(NamedTuple):
    """Lines of one pane that match go to somebody."""

    id: str
    pane: str  # `%3@SOCKET,SERVER`
    place: str  # `work:1.0`, as it was called then
    pattern: str
    to: str  # an address
    owner: str  # the id of whoever set it up
    sender: str  # and its address
    subject: str = ""
    window: float = 2.0
    at: int = 0


def new_id() -> str:
    return secrets.token_hex(3)


def check_pattern(pattern: str) -> str:
    """A pattern that means something. How long it takes is seen when it runs."""
    if len(pattern) > _LONGEST:
        raise InvalidValue(f"a pattern has at most {_LONGEST} characters", field="match")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as exc:
        raise InvalidValue(f"{pattern!r} is no regular expression: {exc}", field="match") from None
    return pattern


def put(home: str, watch: Watch) -> None:
    host.private_directory(config.beside(home, _FOLDER))
    host.private_directory(config.beside(home, _PIPES))
    host.replace(_path(home, watch.id), json.dumps(watch._asdict()).encode())


def get(home: str, id: str) -> Watch | None:
    """None where there is none, or what is there is none."""
    if not id.isalnum():
        return None
    try:
        with open(_path(home, id), encoding="utf-8") as file:
            return Watch(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def every(home: str) -> list[Watch]:
    """In the order in which they were set up."""
    try:
        names = os.listdir(config.beside(home, _FOLDER))
    except OSError:
        return []
    return sorted((found for name in names if (found := get(home, name))), key=lambda one: one.at)


def remove(home: str, id: str) -> None:
    try:
        os.unlink(_path(home, id))
    except FileNotFoundError:
        pass


def fifo(home: str, id: str) -> str:
    """Where its pane's output comes in."""
    return config.beside(home, _PIPES, host.plain(id))


def _path(home: str, id: str) -> str:
    return config.beside(home, _FOLDER, host.plain(id))
