"""The outgoing half of one WebSocket: what it is still to be sent, and what of that has not been proven.

Mail has a window: no more is claimed for a client than it may leave unproven, and the rest stays stored. What
can be told later as well, presence and receipts, has no queue: whoever is slow is told what is so by then.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from starlette.types import Send

from postroom.model.message import Agent, Json, Mail
from postroom.room.handout import Claim, Cursor, claim_of, stand
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.server.line import WebSocket
    from postroom.server.presence import Presence

Dress = Callable[[Mail, dict[int, str]], str]  # as a frame; by its number, what all frames of a message share

WINDOW, WIDEST = 100, 1000
_MOST_ANSWERS = 64  # waiting to be read, before nothing more is asked
_MOST_RECEIPTS = 1000
HEAVY = 8 << 20  # characters that wait to be read: beyond them nothing more is claimed


class Connection:
    """One client. Belongs to the event loop, but for what says otherwise."""

    def __init__(self, agent: Agent, dress: Dress, presence: "Presence", window: int = WINDOW) -> None:
        self.agent = agent
        self.stand = stand(agent.id, agent.called)
        self.window = window
        self.width = window  # of it what may be used: nothing, while too much waits to be read
        self.eased: Callable[[], object] = _nothing  # called when it may be used again
        self.numbered, self.unproven = 0, 0  # the exchange counts these
        self.is_full = False  # whether more waits than it has room for
        self.presence = presence
        self.closed = asyncio.Event()
        self.wants_receipts, self.tells_presence = False, True
        self.handed = 0  # up to this number all has been written out
        self.open: dict[int, Claim] = {}  # by number: what was handed out, and nothing has proven
        self._numbers: dict[str, int] = {}  # by the message's id
        self._ids: dict[int, str] = {}
        self._dress = dress
        self.line: WebSocket | None = None
        self._out: deque[tuple[int, str]] = deque()
        self._size = 0  # of what is in there
        self._is_writing = False  # whether what is in there is being written out, in its order
        self._known = 0  # the latest change of presence that it was told
        self._is_told = False  # whether presence may be told now
        self._receipts: OrderedDict[tuple[int, str], Json] = OrderedDict()
        self._missed = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def push(self, mail: Mail, texts: dict[int, str]) -> None:
        """Claimed for it just now; what cannot be written is not open."""
        text, claim = self._dress(mail, texts), claim_of(mail)
        number, ref = _number(claim), mail[0].id
        self.open[number] = claim
        self._numbers[ref], self._ids[number] = number, ref
        self._put(number, text)

    def drop(self, claims: Iterable[Claim]) -> int:
        """What was settled, or taken away, by another door; how many of them were open still."""
        return len([self._proven(number) for number in map(_number, claims) if number in self.open])

    def say(self, document: Any) -> None:
        """An answer, or a word of its own."""
        self._put(0, encode(document))
        if len(self._out) - len(self.open) > _MOST_ANSWERS:
            self._room.clear()

    def _put(self, number: int, text: str) -> None:
        """Out at once, if nothing else waits and the line takes it."""
        is_idle = self.line is not None and not self._is_writing and not self._out
        if is_idle and self.line is not None and self.line.write(text):
            self.handed = number or self.handed
            return
        self._out.append((number, text))
        self._size += len(text)
        if self._size > HEAVY:
            self.width = 0
        self._news.set()

    @property
    def is_heard(self) -> bool:
        """Whether it reads what it asked for."""
        return self._room.is_set()

    async def has_room(self) -> None:
        """Wait until it has read most of what it asked for."""
        await self._room.wait()

    def proven(self, upto: Cursor | None = None, ref: str = "") -> list[Claim]:
        """What its own word proves: all up to there, or one message. Only what was written out can be."""
        if upto is None:
            numbers = [number for number in (self._numbers.get(ref),) if number]
        elif upto.stand == self.stand.id:
            numbers = [number for number in self.open if number <= upto.number]
        else:
            numbers = []
        return [self._proven(number) for number in numbers if number <= self.handed]

    def _proven(self, number: int) -> Claim:
        self._numbers.pop(self._ids.pop(number), None)
        return self.open.pop(number)

    def tell_presence(self) -> None:
        if self.tells_presence:
            self._is_told = True
            self._news.set()

    def tell_receipt(self, key: tuple[int, str], document: Json) -> None:
        """The latest of each delivery counts."""
        self._receipts.pop(key, None)
        self._receipts[key] = document
        if len(self._receipts) > _MOST_RECEIPTS:
            self._receipts.popitem(last=False)
            self._missed += 1
        self._news.set()

    async def write(self, send: Send) -> None:
        """Write out what there is, for ever; ends with an error of the server's when the client is gone."""
        while True:
            self._news.clear()
            self._is_writing = True
            while self._out:
                number, text = self._out.popleft()
                await send({"type": "websocket.send", "text": text})
                self.handed = number or self.handed
                self._size -= len(text)
                if not self.width and self._size <= HEAVY // 2:
                    self.width = self.window
                    self.eased()
            self._room.set()
            for text in self._later():
                await send({"type": "websocket.send", "text": text})
            self._is_writing = False
            if not self._out:
                await self._news.wait()

    def end(self) -> None:
        """Nobody will read what it holds, which may be much, and the collector of garbage comes seldom."""
        self._out = deque(maxlen=0)  # some answer may still be under way
        self._receipts.clear()
        if self.line is not None:
            self.line.hear = self.line = None
        self.eased = _nothing

    def _later(self) -> list[str]:
        """What could wait, as it is now."""
        found: list[str] = []
        if self._is_told and (text := self.presence.since(self._known)):
            found.append(text)
            self._known = self.presence.number
        self._is_told = False
        if self._receipts:
            told = {"type": "receipt", "deliveries": list(self._receipts.values()), "missed": self._missed}
            found.append(encode(told))
            self._receipts, self._missed = OrderedDict(), 0
        return found


def _nothing() -> None:
    """Nobody wants to know."""


def _number(claim: Claim) -> int:
    """The how manieth of its stand."""
    nonce = claim.nonce
    return int(nonce[nonce.rindex(".") + 1 :])
