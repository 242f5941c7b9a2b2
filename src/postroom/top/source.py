"""Where it looks: a room on this machine, with or without a daemon, or one elsewhere over its API.

Both answer the same operations by name (`protocol.operation`). A room here is looked at in this process, as
its own server would, and woken by its bell; one elsewhere is followed by its stream of events.
"""

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from postroom import host
from postroom.errors import PostroomError
from postroom.protocol.operation import BY_NAME
from postroom.room.aio import AsyncRoom
from postroom.room.directory import caller_or_none

if TYPE_CHECKING:
    from postroom.model.message import Json
    from postroom.room.local import LocalRoom
    from postroom.room.remote import RemoteRoom
    from postroom.server.principal import Principal

T = TypeVar("T")

_MOMENT = 2.0  # seconds in which a daemon that is well has said so


class Source(ABC):
    """One room, looked at by one worker thread: the screen never waits for a disk or a network."""

    is_here: bool
    where: str  # as people name it

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, "top")

    @abstractmethod
    def call(self, operation: str, /, **args: Any) -> "Json":
        """What an operation answers; its errors are raised here."""

    @abstractmethod
    def health(self) -> "Json":
        """What the room's daemon tells of itself and of whom it looks after; empty where none answers."""

    @abstractmethod
    def changes(self) -> AsyncIterator[None]:
        """Once whenever something has happened since it was last asked for."""

    async def do(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Off the event loop, one after another."""
        return await asyncio.get_running_loop().run_in_executor(
            self._worker, partial(function, *args, **kwargs)
        )

    async def ask(self, operation: str, /, **args: Any) -> "Json":
        return await self.do(self.call, operation, **args)

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)


class Here(Source):
    """A room whose files are here."""

    is_here = True

    def __init__(self, room: "LocalRoom") -> None:
        from postroom.daemon.bridged import Bridged  # noqa: PLC0415 - not for a room elsewhere
        from postroom.server.desk import Desk  # noqa: PLC0415
        from postroom.server.principal import Credentials  # noqa: PLC0415

        super().__init__()
        self._room, self.where = room, room.home
        self._desk = Desk(room, Bridged(room.home, partial(_ask, room.home)))
        self._who = self._desk.identify(
            Credentials(pid=os.getpid(), uid=host.user(), claimed=room.agent or "")
        )
        self._project, self._party = room.project(), ""

    def call(self, operation: str, /, **args: Any) -> "Json":
        from postroom.server.calling import ACTS  # noqa: PLC0415 - not for a room elsewhere
        from postroom.server.desk import Call  # noqa: PLC0415

        asked, who = BY_NAME[operation], self._present()
        who.check(asked.scope)
        said = {name: value for name, value in args.items() if value is not None}
        room = self._desk.view(who, said.get("project") or self._project)
        return ACTS[operation](Call(self._desk, asked, who, room, said))

    def health(self) -> "Json":
        try:
            return _ask(self._room.home, "ping", {}, _MOMENT)
        except PostroomError:
            return {}

    def _present(self) -> "Principal":
        """Who looks, under the name it has now: it is long here, and may get another one."""
        look, who = self._room.store.look(), self._who
        if who.agent is not None:
            return who._replace(agent=look.agent(who.agent.id) or who.agent)
        if not self._party and (named := caller_or_none(look, who.name, self._room.scope)):
            self._party = named.id  # from here on it is that one, whoever gets its name
        found = look.agent(self._party) if self._party else None
        return who if found is None else who._replace(name=found.address)

    async def changes(self) -> AsyncIterator[None]:
        cursor = await self.do(lambda: self._room.store.look().last_cursor())
        async for _ in AsyncRoom(self._room, self._worker).events(follow=True, after=cursor):
            yield

    def close(self) -> None:
        self._desk.close()
        self._worker.submit(self._room.close)
        self._worker.shutdown()


class Elsewhere(Source):
    """A room that a daemon serves."""

    is_here = False

    def __init__(self, room: "RemoteRoom", url: str) -> None:
        super().__init__()
        self._room, self.where = room, url

    def call(self, operation: str, /, **args: Any) -> "Json":
        return self._room.call(operation, **args)

    def health(self) -> "Json":
        return self.call("status")["daemon"]

    async def changes(self) -> AsyncIterator[None]:
        """Read by a thread that ends with this process: nothing else can end its wait for the network."""
        loop, happened = asyncio.get_running_loop(), asyncio.Event()
        cursor = str((await self.ask("events", before="end", limit=1))["cursor"])

        def read() -> None:
            for _ in self._room.events(follow=True, after=cursor):
                if loop.is_closed():
                    return
                loop.call_soon_threadsafe(happened.set)

        threading.Thread(target=read, name="events", daemon=True).start()
        while True:
            await happened.wait()
            happened.clear()
            yield


def _ask(home: str, verb: str, words: "Json", patience: float = 0.0) -> Any:
    """Of the room's daemon; where none runs, nothing is started for it."""
    from postroom.daemon.control import PATIENCE, ask  # noqa: PLC0415 - seldom

    return ask(home, verb, patience=patience or PATIENCE, **words)
