"""What the tools ask of whoever hosts them: who calls, and threads that may wait for a disk."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, NamedTuple, Protocol, TypeVar

from postroom.model.message import Agent
from postroom.room.local import LocalRoom

T = TypeVar("T")


class Caller(NamedTuple):
    """Who calls, and the room as it has it."""

    agent: Agent
    room: LocalRoom
    sees_all: bool = False  # whether it may see what others write to each other


class Host(Protocol):
    """One for each room that is served."""

    @property
    def room(self) -> LocalRoom: ...

    @property
    def pool(self) -> Executor: ...

    async def do(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Whatever touches the room, off the event loop."""
        ...


Admit = Callable[[], Caller]  # blocks; raises what is wrong with who calls


class Guest(NamedTuple):
    """Who is at a door, before it is known as whom it comes."""

    key: str  # by which one is told from another
    admit: Callable[..., Caller]  # as `Admit`; with what a request says of its conversation, if it does
    process: str = ""  # its own, as `host.identity` names it, where that is known
