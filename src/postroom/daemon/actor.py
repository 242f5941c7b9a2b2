"""One agent that a bridge reaches: its mail goes in one text after the other, and nothing is done twice.

An actor has a thread of its own and does one thing at a time. It looks at its agent only while something
waits for it. Where the agent has hooks that carry mail, they do, and the bridge only wakes it.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import groupby

from postroom import host
from postroom.bridges.adoption import occupy
from postroom.bridges.contract import (
    Assent,
    Bridge,
    Delivered,
    Heard,
    Interrupted,
    Kind,
    Observation,
    Result,
    Text,
)
from postroom.bridges.manifest import Manifest
from postroom.daemon.introduction import Introduction
from postroom.daemon.questions import Questions
from postroom.daemon.waking import Waking
from postroom.errors import StoreError, TerminalTaken, UnknownAgent
from postroom.model.ladder import Reason
from postroom.model.message import Agent, Json, Mail, Session
from postroom.room import berth, glance, push, turn
from postroom.room.glance import Glance
from postroom.room.local import LocalRoom
from postroom.room.pen import Pen
from postroom.runtimes.contract import NUDGE, Failure
from postroom.text import storable

_BUDGET = 6_000  # characters of a text that is typed
_SETTLED = 0.25  # seconds for which an agent must have been idle
_SOON, _LATE = 0.25, 2.0  # seconds between two looks while something is in the way, at first and at last
_LONGEST = 60.0  # seconds before what was refused again and again is tried again
_SMALL = 5.0  # seconds between two looks at a terminal that is too small for all that waits
_OPEN = 1.0  # seconds between two looks for the proof of what was handed over


class Actor:
    """See above. `step` is all that it does; whoever has the thread calls it, and waits as it says."""

    def __init__(
        self,
        room: LocalRoom,
        manifest: Manifest,
        bridge: Bridge,
        due: "deque[Deed] | None" = None,
        *,
        knows: bool = False,
        questions: Questions | None = None,
        instead: str = "",
        ground: Bridge | None = None,
    ) -> None:
        """`due`: what an actor before this one could not note; `knows`: on the same bridge, which therefore
        knows what was handed over by it; `questions`: those that were asked there, which outlive an actor;
        `instead`: why it is not reached by a better route; `ground`: the bridge to its terminal, if this is
        another.
        """
        self._room = room
        self._bridge = bridge
        self._ground = ground or bridge
        self._instead = instead
        self.has_stumbled = False  # whether something did not go through, so that the route is to be tried
        self._manifest = manifest
        self._route = bridge.name
        self._pause = _SOON
        self._rests_until = 0.0
        self.refusals = 0  # in a row, of mail that was on its way
        self.refused = ""  # in words, the last of them
        self._idle_since: float | None = None
        self._too_long: dict[int, tuple[int, int]] = {}  # messages that did not fit, by the terminal's size
        self._alone = 0  # the message that is tried by itself: with others it was too long
        self.session = occupy(room, self._agent(), manifest)
        self._waking = Waking(room)
        self._introduction = Introduction(room, bridge, manifest.runtime)
        self._has_begun = False
        self._questions = questions or Questions(room, bridge)
        self.has_ended = False
        self.exit_code: int | None = None  # of an agent that has ended; None: nobody knows
        self._due: deque[Deed] = deque() if due is None else due
        self._do()
        if not knows:
            push.doubt(room, self.session, self._route)  # of an earlier life of ours

    def _agent(self) -> Agent:
        found = self._room.store.look().agent(self._manifest.agent)
        if found is None:
            raise UnknownAgent(f"there is no agent {self._manifest.address} any more")
        return found

    def step(self) -> float | None:
        """Do what can be done now; in how many seconds to look again, or None: when something rings."""
        is_gone = self._is_gone()
        self._do()
        self._do(*self._deeds(self._bridge.receive()))
        self.has_ended = self.has_ended or is_gone
        if self.has_ended:
            return None
        agent = self._agent()
        look = self._questions.step(agent, self.session)
        if not self._has_begun:
            self._has_begun = True
            self.observe()  # else nobody would know what it does until it has mail
            self._introduce(agent)
        pauses = [pause for pause in (look, self._bring(agent)) if pause is not None]
        return min(pauses, default=None)

    def _bring(self, agent: Agent) -> float | None:
        """Its mail, if there is any; as `step`."""
        waits = self._questions.sift(push.waiting(self._room.store.look(), agent))
        if not waits:
            self._idle_since, self._pause = None, _SOON
            return _OPEN if push.handed(self._room, self.session, self._route) else None
        carrier = berth.carrier(self._room.store.look(), agent.id)
        if carrier is not None:
            return self._wake(carrier, waits)
        return self._push(agent, waits)

    def _introduce(self, agent: Agent) -> None:
        """At first, so that it knows before anybody writes; and before its mail, if that is no longer so."""
        told = self._introduction.step(agent, self.session)
        if told is not None:
            self._do(lambda _: told())

    def _is_gone(self) -> bool:
        """Whether an agent has ended that is nobody's child here. Of a child's end its bridge tells, and how
        it came, a moment later; of another's at once, so this must be asked before.
        """
        return not self._bridge.capabilities().owned and host.is_gone(self.session.process)

    def _do(self, *deeds: "Deed") -> None:
        """Note in the room what has happened, in this order. What it does not take now is done later, if need
        be by the next actor, and before all else.
        """
        self._due += deeds
        while self._due:
            try:
                self._due[0](self)
            except StoreError:
                raise
            except Exception:
                self._due.popleft()  # it would fail for ever
                raise
            self._due.popleft()

    # by hooks, woken

    def _wake(self, carrier: Session, waits: list[Mail]) -> float | None:
        wait = self._waking.due_in(carrier, waits)
        if wait is None or wait > 0:
            return wait
        line, idle = Text(self._waking.line(waits), Kind.WAKE), lambda: self._waking.is_idle(carrier)
        delivered = self._deliver(line, lambda: self._waking.tried(carrier, waits), idle)
        if delivered.result is Result.REFUSED:
            self._waking.withheld()
        self.observe()
        self._do(partial(Actor._tell, delivered=delivered, what="wake", mails=waits[:1]))
        return self._again()

    # without hooks, typed

    def _push(self, agent: Agent, waits: list[Mail]) -> float | None:
        if (left := self._rests_until - time.monotonic()) > 0:
            return left
        seen = self.observe()
        self._forget(waits)
        waits = [mail for mail in waits if self._may_fit(mail, seen.size)]
        if not waits:
            return _SMALL
        works = seen.reason == Reason.BUSY.value and self._may_go_into_work(waits)
        if seen.reason and not works:
            self._idle_since = None
            return self._again()
        if (left := self._unsettled(seen)) > 0:
            return left
        self._introduce(agent)
        offering = push.claim(
            self._room, agent, self.session, route=self._route, budget=min(_BUDGET, seen.room or _BUDGET),
            wanted=self._wanted(works, seen.size),
        )  # fmt: skip
        if offering is None:
            return _LATE  # a program of the agent's own listens, and has the next one
        return self._type(offering, works, seen.size)

    def _wanted(self, works: bool, size: tuple[int, int]) -> Callable[[Mail], bool]:
        may_be = push.may_be_pushed_into_work if works else push.may_be_pushed

        def wanted(mail: Mail) -> bool:
            return may_be(mail) and self._may_fit(mail, size) and self._alone in (0, mail.delivery.seq)

        return wanted

    def _may_fit(self, mail: Mail, size: tuple[int, int]) -> bool:
        """Whether it may fit into a terminal of that size: what did not is not tried there again."""
        return self._too_long.get(mail.delivery.seq) != size

    def _forget(self, waits: list[Mail]) -> None:
        """What did not fit, and waits no longer: somebody has read it elsewhere."""
        left = {mail.delivery.seq for mail in waits}
        self._too_long = {seq: size for seq, size in self._too_long.items() if seq in left}
        self._alone = self._alone if self._alone in left else 0

    def _type(self, offering: turn.Offering, works: bool, size: tuple[int, int]) -> float:
        begun: list[bool] = []

        def begin() -> None:
            push.begun(self._room, offering, self.session)
            begun.append(not works)

        try:
            delivered = self._deliver(Text(offering.frame.text, while_busy=works), begin)
        except Exception:  # then not a byte was written
            self._due.append(lambda actor: push.give_up(actor._room, offering))
            raise
        self._idle_since = None
        self._do(partial(Actor._settle, offering=offering, delivered=delivered))
        if delivered.reason == Reason.TOO_LONG.value:
            return self._announce(offering.mails, size)
        self._alone = 0
        if delivered.result is Result.REFUSED:
            return self._rest(delivered.words, counts=any(begun))
        self._pause, self.refusals = _SOON, 0
        return 0.0

    def _rest(self, words: str, *, counts: bool) -> float:
        """For how long nothing is tried after a refusal, whoever rings: each try is written into the room,
        and what is given back rings for its agent. `counts`: it was refused by who had it before them.
        """
        if counts:
            self.refusals, self.refused = self.refusals + 1, words
        pause = min(_LONGEST, self._again() * 2**self.refusals)
        self._rests_until = time.monotonic() + pause
        return pause

    def _announce(self, mails: list[Mail], size: tuple[int, int]) -> float:
        """What a terminal cannot show at once is not typed: the first alone, or a line on where it is. Where
        even that does not fit, it waits until the terminal has another size.
        """
        first = mails[0]
        self._alone = first.delivery.seq if len(mails) > 1 else 0
        if self._alone:
            return 0.0
        line = f"{NUDGE} It is too long for this terminal. Run: postroom read {first.handle}"
        self._too_long[first.delivery.seq] = size
        delivered = self._deliver(Text(line, Kind.WAKE), lambda: None)
        self._do(partial(Actor._tell, delivered=delivered, what="notice", mails=[first]))
        if delivered.result is Result.REFUSED and delivered.reason != Reason.TOO_LONG.value:
            del self._too_long[first.delivery.seq]
            return self._rest(delivered.words, counts=False)
        return 0.0

    def _may_go_into_work(self, waits: list[Mail]) -> bool:
        return self._bridge.capabilities().busy and any(map(push.may_be_pushed_into_work, waits))

    def _unsettled(self, seen: Observation) -> float:
        """How long it must still be idle before anything is typed: some look so between two tools. One
        without a screen says itself that it is.
        """
        if seen.still >= _SETTLED or not self._bridge.capabilities().screen:
            return 0.0
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        return self._idle_since + _SETTLED - now

    def _deliver(
        self, text: Text, begun: Callable[[], None], agrees: Callable[[], bool] = lambda: True
    ) -> Delivered:
        bridge = self._ground if text.kind is Kind.COMMAND else self._bridge
        try:
            with self._pen() as pen:
                delivered = bridge.deliver(text, Assent(begun, lambda: agrees() and pen.holds()))
        except TerminalTaken as exc:
            return Delivered(Result.REFUSED, "typing", words=str(exc))
        if delivered.result is Result.UNCERTAIN or delivered.reason == Reason.OFFLINE.value:
            self.has_stumbled = True
        return delivered

    @contextmanager
    def _pen(self) -> Generator[Pen]:
        """The pen of its terminal. It may be noted later that it was put down: what was done is done."""
        pen = Pen(self._room, self._manifest.pane or self._manifest.agent)
        try:
            yield pen
        finally:
            try:
                pen.close()
            except StoreError:
                self._due.append(lambda _: pen.close())

    def _settle(self, offering: turn.Offering, delivered: Delivered) -> None:
        """Twice does no harm."""
        match delivered.result:
            case Result.REFUSED:
                is_long = delivered.reason == Reason.TOO_LONG.value and len(offering.mails) == 1
                push.give_up(self._room, offering, Reason.TOO_LONG if is_long else None)
            case Result.PROVEN if delivered.evidence is not None:
                push.prove(self._room, self.session, self._route, delivered.evidence)
            case Result.UNCERTAIN:
                push.doubt(self._room, self.session, self._route)
            case Result.HANDED | Result.PROVEN:
                pass  # `receive` will tell
        self._tell(delivered, "mail", offering.mails)

    def _doubt(self, words: str) -> None:
        mails = push.handed(self._room, self.session, self._route)
        push.doubt(self._room, self.session, self._route)
        if mails:
            self._tell(Delivered(Result.UNCERTAIN, words=words), "mail", mails)

    def _tell(self, delivered: Delivered, what: str, mails: list[Mail]) -> None:
        """Note what was done in the agent's terminal: how much, of what, and what is known of it. No text."""
        if delivered.result is Result.REFUSED:
            return
        payload: Json = {
            "what": what, "route": self._route, "result": delivered.result.value,
            "words": storable(
                f"{delivered.words} ({self._instead})" if self._instead else delivered.words
            ),
            "messages": [mail.id for mail in mails],
        }  # fmt: skip
        with self._room.write() as tx:
            tx.append("agent.pushed", self._manifest.agent, payload=payload)

    # what others ask for

    def command(self, text: str, begun: Callable[[], None]) -> Delivered:
        """Type an operator's own words, as they are, where mail might be typed, too."""

        def agrees() -> bool:
            carrier = berth.carrier(self._room.store.look(), self._manifest.agent)
            return carrier is None or self._waking.is_idle(carrier)

        return self._deliver(Text(text, Kind.COMMAND), begun, agrees)

    def interrupt(self) -> Interrupted | None:
        """End the agent's turn by its own keys; None: its bridge has none."""
        if not self._bridge.capabilities().interrupts:
            return None
        try:
            with self._pen():
                return self._bridge.interrupt()
        except TerminalTaken as exc:
            return Interrupted(False, f"nothing was pressed: {exc}")

    def observe(self) -> Observation:
        """Look at the agent, and leave a note of it for whoever asks."""
        seen = self._bridge.observe()
        self.has_stumbled = self.has_stumbled or seen.reason == Reason.OFFLINE.value
        note = Glance(
            seen.doing.value, storable(seen.words), seen.reason, seen.at, host.identity(), self._instead
        )
        glance.put(self._room.home, self._manifest.agent, note)
        return seen

    def has_open(self) -> bool:
        """Whether something was handed over by this route, of which nobody knows yet what became of it."""
        return bool(push.handed(self._room, self.session, self._route))

    def _again(self) -> float:
        """When to look again: sooner at first, then less and less often."""
        pause, self._pause = self._pause, min(_LATE, self._pause * 1.5)
        return pause

    # what comes out of it

    def _deeds(self, heard: list[Heard]) -> "Iterator[Deed]":
        """What is to be done about each, in order. What was only said is written down together."""
        for is_said, some in groupby(
            heard, lambda one: bool(one.text) and one == Heard(one.text, one.stream)
        ):
            if is_said:
                yield partial(Actor._write_down, some=[*some])
            else:
                yield from [partial(Actor._hear, heard=one) for one in some]

    def _hear(self, heard: Heard) -> None:
        self._questions.hear(heard)  # first: its agent waits, whatever becomes of the rest
        if heard.proves is not None:
            push.prove(self._room, self.session, self._route, heard.proves)
        if heard.refused:
            push.refuse(self._room, self.session, self._route, Failure(heard.refused))
        if heard.doubts:
            self._doubt(heard.doubts)
        if heard.text:
            self._write_down([heard])
        if heard.exit_code is not None:
            self.has_ended, self.exit_code = True, heard.exit_code

    def _write_down(self, some: list[Heard]) -> None:
        berth.said(self._room, self._manifest.agent, *((one.stream, one.text) for one in some))


Deed = Callable[[Actor], None]
