"""Statistics: who writes to whom, how soon it is acknowledged and answered, what is put into each agent."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from postroom.model.address import ROOM
from postroom.model.tally import OfAgent, OfPair, Put, Saved, Spread, Stats, Time, Traffic, spread
from postroom.protocol.frame import EMPTY

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx

T = TypeVar("T")
K = TypeVar("K")


def stats(room: "LocalRoom", since: int | None) -> Stats:
    """See `postroom.room.contract.Room.stats`."""
    room.sweep()
    after = since or 0
    with room.store.read() as tx:
        tally = room.store.tally()
        traffic, answers = tally.traffic(after), tally.answers(after)
        bundles = tally.bundles(after)
        names = _names(tx, {party for one in traffic for party in (one.sender, one.recipient)})
    return Stats(
        since,
        sum(one.messages for one in traffic),
        sorted(_agents(traffic, answers, names), key=lambda one: (-one.sent - one.received, one.address)),
        sorted(_pairs(traffic, answers, names), key=lambda one: (-one.messages, one.sender, one.recipient)),
        sorted(_put(traffic, names), key=lambda one: (-one.characters, *one[:4])),
        sorted(_saved(bundles, names), key=lambda one: (-one.characters, one.recipient)),
    )


def _names(tx: "ReadTx", parties: set[str]) -> dict[str, str]:
    """The address of everybody; the bare id of who is no longer known."""
    found = {party: tx.agent(party) for party in parties if party != ROOM}
    return {ROOM: ROOM} | {party: agent.address if agent else party for party, agent in found.items()}


def _agents(traffic: list[Traffic], answers: list[Time], names: dict[str, str]) -> Iterable[OfAgent]:
    by_writer = _grouped(traffic, lambda one: one.sender)
    by_reader = _grouped(traffic, lambda one: one.recipient)
    answered = _grouped(answers, lambda one: one.recipient)
    for party in by_writer.keys() | by_reader.keys():
        got, times = by_reader.get(party, []), answered.get(party, [])
        yield OfAgent(
            names[party], sum(one.messages for one in by_writer.get(party, [])), *_read(got, times),
            sum(one.characters for one in got),
        )  # fmt: skip


def _pairs(traffic: list[Traffic], answers: list[Time], names: dict[str, str]) -> Iterable[OfPair]:
    answered = _grouped(answers, lambda one: (one.sender, one.recipient))
    for pair, some in _grouped(traffic, lambda one: (one.sender, one.recipient)).items():
        characters = sum(one.characters for one in some)
        yield OfPair(names[pair[0]], names[pair[1]], *_read(some, answered.get(pair, [])), characters)


Read = tuple[int, int, Spread | None, int, int, Spread | None]


def _read(traffic: list[Traffic], answers: list[Time]) -> Read:
    """Messages, those acknowledged, how soon; requests, those without an answer, how soon the others."""
    acks = [(one.ms, one.messages) for one in traffic if one.ms is not None]
    return (
        sum(one.messages for one in traffic), sum(times for _, times in acks), spread(acks),
        sum(one.times for one in answers), sum(one.times for one in answers if one.ms is None),
        spread((one.ms, one.times) for one in answers),
    )  # fmt: skip


def _put(traffic: list[Traffic], names: dict[str, str]) -> Iterable[Put]:
    for key, some in _grouped(traffic, lambda one: (one.recipient, one.type, one.sender, one.route)).items():
        recipient, kind, sender, route = key
        if handed := sum(one.handed for one in some):
            characters = sum(one.characters for one in some)
            yield Put(names[recipient], kind, names[sender], route or "", handed, characters)


def _saved(bundles: list[tuple[str, int, int]], names: dict[str, str]) -> Iterable[Saved]:
    """Each offering but the first would have been a frame of its own."""
    for recipient, messages, offerings in bundles:
        yield Saved(names[recipient], messages, offerings, (messages - offerings) * EMPTY)


def _grouped(rows: list[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups
