"""A mailbox that a carrier in this process serves, and the agent that uses it, by its files alone."""

import json
import os
from typing import Any

from postroom.bridges.files.carrier import Carrier
from postroom.bridges.files.local import LocalShelf
from postroom.config import Settings
from postroom.model.message import Delivery
from postroom.room.local import LocalRoom

UNLIMITED = Settings(sender_rate=0, mailbox_rate=0)


class Agent:
    """What an agent does that shares nothing but its directory."""

    def __init__(self, place: str) -> None:
        self.place = place

    def path(self, *parts: str) -> str:
        return os.path.join(self.place, *parts)

    def names(self, *folder: str) -> list[str]:
        return sorted(name for name in os.listdir(self.path(*folder)) if name.endswith((".json", ".gz")))

    def inbox(self) -> list[dict[str, Any]]:
        return [self.read("inbox", name) for name in self.names("inbox")]

    def read(self, *parts: str) -> dict[str, Any]:
        with open(self.path(*parts), encoding="utf-8") as file:
            return json.load(file)

    def put(self, name: str, *letters: Any) -> None:
        """As one should: under another name first."""
        content = letters[0] if len(letters) == 1 else list(letters)
        with open(self.path("outbox", f".{name}"), "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.rename(self.path("outbox", f".{name}"), self.path("outbox", name))

    def drop(self, name: str, letter: Any) -> None:
        """Straight into the inbox, as programs of older tools do."""
        with open(self.path("inbox", f".{name}"), "w", encoding="utf-8") as file:
            json.dump(letter, file)
        os.rename(self.path("inbox", f".{name}"), self.path("inbox", name))

    def write(self, name: str, data: bytes) -> None:
        """As one should not: whoever looks may see a part."""
        with open(self.path("outbox", name), "wb") as file:
            file.write(data)

    def put_away(self, *names: str) -> None:
        for name in names or self.names("inbox"):
            os.rename(self.path("inbox", name), self.path("inbox", "processed", name))

    def receipt(self, id: str) -> dict[str, Any]:
        return self.read("receipts", f"{id}.json")


class Postal(Agent):
    """With the carrier beside it: `carry` lets it do all that it can do now."""

    def __init__(self, room: LocalRoom, tree: str, name: str = "bob") -> None:
        super().__init__(os.path.join(tree, name))
        os.makedirs(tree, exist_ok=True)
        self.room, self.tree, self.name = room, tree, name
        self.id = room.join(name).id
        self.shelf = LocalShelf(tree, name)
        self.shelf.make()
        self.carrier = Carrier(room, self.id, self.shelf)
        self.carry()

    def carry(self) -> float | None:
        while (pause := self.carrier.step()) == 0.0:
            pass
        return pause

    def again(self) -> None:
        """Another process carries from now on, as after an end of the first that nobody saw coming."""
        self.close()
        self.shelf = LocalShelf(self.tree, self.name)
        self.carrier = Carrier(self.room, self.id, self.shelf)
        self.carry()

    def delivery(self, ref: str) -> Delivery:
        [found] = self.room.store.look().deliveries(self.room.message(ref).seq)
        return found

    def state(self, ref: str) -> str:
        return self.delivery(ref).state.value

    def close(self) -> None:
        self.carrier.close()
