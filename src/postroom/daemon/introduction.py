"""Telling an agent what its address is, where no hooks of its own do: once in each context, without a turn.

It is no mail: nobody waits for it to be seen, and it must not set a model to work. So it goes only by a
bridge that can add to a conversation what begins no turn, and its model reads it with whatever comes next.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from postroom.bridges.contract import Bridge, Context, Informing, Result
from postroom.daemon.log import warn
from postroom.errors import BridgeError
from postroom.hooks.greeting import greeting
from postroom.model.message import Agent, Json, Session
from postroom.room import berth
from postroom.runtimes import NAMES
from postroom.setup import standing

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import WriteTx

_KEPT = "introduced."
_MOST = 64  # notes of other conversations of one agent

Told = Callable[[], None]  # notes in the room what was told; twice does no harm


class Introduction:
    """Of one agent, over one bridge."""

    def __init__(self, room: "LocalRoom", bridge: Bridge, runtime: str) -> None:
        self._room = room
        self._bridge = bridge if isinstance(bridge, Informing) else None
        self._route = bridge.name
        self._runtime = runtime
        self._seen_to = ""  # for which address, and where

    def step(self, agent: Agent, session: Session) -> Told | None:
        """Tell it, if it does not know; what is to be noted then.

        A server that does not take it is asked no more for the same context: its mail says how to answer.
        """
        context = self._bridge.context() if self._bridge else None
        if self._bridge is None or context is None or (key := _key(agent, context)) == self._seen_to:
            return None
        if self._is_known(key):
            self._seen_to = key
            return None
        if self._is_for_hooks(agent, context):
            return None
        self._seen_to = key
        text = greeting(self._room.home, agent, session, is_child=False)
        try:
            words = self._bridge.inform(text)
        except BridgeError as exc:
            warn("not introduced", agent=agent.address, error=exc)
            return None
        return lambda: self._note(agent, context, words)

    def _is_known(self, key: str) -> bool:
        """Whether it was told so here, and that was not compacted since. A compaction that happened long ago
        is out of sight, and was seen before.
        """
        return bool(self._room.store.look().position(key))

    def _is_for_hooks(self, agent: Agent, context: Context) -> bool:
        """Whether its hooks tell it, or may yet do so in its first turn."""
        if berth.carrier(self._room.store.look(), agent.id) is not None:
            return True
        is_first = not context.has_turned and self._runtime in NAMES
        return is_first and standing.is_left(self._room.home, self._runtime)

    def _note(self, agent: Agent, context: Context, words: str) -> None:
        payload: Json = {
            "what": "introduction", "route": self._route, "result": Result.HANDED.value, "words": words,
            "messages": [],
        }  # fmt: skip
        with self._room.write() as tx:
            for where in (context, context._replace(epoch="")):
                tx.set_position(_key(agent, where), str(tx.next_seq))
            _forget(tx, agent, context)
            tx.append("agent.pushed", agent.id, payload=payload)


def _key(agent: Agent, context: Context) -> str:
    """Under which it is noted, beside the state, that an agent was told."""
    return f"{_conversation(agent, context)}{context.epoch}"


def _conversation(agent: Agent, context: Context) -> str:
    return f"{_KEPT}{agent.id}.{agent.address}.{context.conversation}."


def _forget(tx: "WriteTx", agent: Agent, context: Context) -> None:
    """What nobody will ask for again: of agents that are gone, of an earlier address, of a context before
    the last compaction, and of conversations that were left long ago.
    """
    here, left = [_key(agent, where) for where in (context, context._replace(epoch=""))], 0
    for key in tx.followers(_KEPT):
        of = key.removeprefix(_KEPT).partition(".")[0]
        if of != agent.id:
            is_done = (other := tx.agent(of)) is None or other.left_at is not None
        elif key.startswith(_conversation(agent, context)):
            is_done = key not in here
        else:
            left += 1
            is_done = left > _MOST or not key.startswith(f"{_KEPT}{agent.id}.{agent.address}.")
        if is_done:
            tx.forget_position(key)
