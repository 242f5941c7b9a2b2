"""Rooms that were made of another, and go on with its config when that is read again."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from postroom.config import Settings

if TYPE_CHECKING:
    from postroom.room.premises import Premises

Adapt = Callable[[Settings], Settings]


class Followers:
    """Those of one room, each as long as anybody has it; with what it makes of the settings."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._all: WeakKeyDictionary[Premises, Adapt] = WeakKeyDictionary()

    def add(self, room: "Premises", adapt: Adapt) -> None:
        with self._guard:
            self._all[room] = adapt

    def every(self) -> "list[tuple[Premises, Adapt]]":
        with self._guard:
            return list(self._all.items())
