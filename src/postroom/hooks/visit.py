"""One visit of an agent's session: an event of its runtime, and what that means for its mail."""

import os
import time
from typing import TYPE_CHECKING

from postroom import host, label
from postroom.hooks import above, journal
from postroom.hooks.lent import Lent
from postroom.model.message import Agent, Json, Session
from postroom.protocol.frame import SMALLEST, holds_frame
from postroom.room import turn
from postroom.room.local import LocalRoom
from postroom.room.probe import scope_of
from postroom.room.seat import Seat, bears, goes_on_elsewhere
from postroom.room.session import current, end, greeted
from postroom.room.spool import appoint, dismiss, make_secret, occupied
from postroom.room.stop import Stops
from postroom.room.transcript import Conversation, Trace, is_amid
from postroom.room.unit import Unit
from postroom.runtimes.contract import NUDGE, Beat, Failure, Kind, Point, Runtime, Said, Wake, Words

if TYPE_CHECKING:
    from postroom.store.contract import WriteTx

_FIRST = (Kind.START, Kind.CHILD)
_BEGIN = (*_FIRST, Kind.COMPACT)  # another context begins here, or right after it
_LATER = (Kind.PROMPT, Kind.TOOL)  # where a conversation can be told whose it is, if it could not be before
_STARTS = ("startup", "resume")
_STARTED = (*_STARTS, "clear", "fork")  # by a person, or a program; not by the conversation itself
_STOPS = (Kind.STOP, Kind.CHILD_STOP)
_LAST = (*_STOPS, Kind.FAILURE, Kind.END)
_PATIENCE, _PAUSE = 0.25, 0.02  # seconds
_LOOKING = 0.5  # seconds in all for what the transcript tells: some runtimes end a hook after one


class Visit:
    """Pay it, write out what it says, then say whether that `succeeded` or `failed`."""

    def __init__(
        self, room: LocalRoom, runtime: Runtime, point: Point, beat: Beat, *, key: str, began: int
    ) -> None:
        self._room = room
        self._runtime = runtime
        self._point = point
        self._beat = beat
        self._key = key
        self._began = began
        self._words = [runtime.name, point.event]
        self._run = os.path.join(room.home, "run")
        self._offering: turn.Offering | None = None
        self._session: Session | None = None
        self._agent: Agent | None = None
        self._traces: dict[tuple[str, str], Trace] = {}
        self._lent = False
        self._is_amid = False
        self._conversation = Conversation(beat.transcript, runtime.marks)
        self._known: Session | None = None  # also one that has just ended

    def pay(self) -> Said:
        """Settle what was shown before, claim what may be shown now; what to say to the runtime."""
        label.here("hook-begun")
        seat, kind = self._seat(), self._point.kind
        before = self._room.store.look().session(seat.main.id)
        if before is not None and self._is_held(before, seat):
            own = self._in_holder(before, seat)
            if own is None:
                return Said()
            seat = own
        self._take_in(seat)
        seat = self._at_its_beginning(seat, before)
        proof = self._proof()
        self._await_transcript(seat, proof)
        if before is not None and self._beat.rests:
            seat = seat._replace(queued=self._queued(before))
        with Unit(self._room, prompt=False) as tx:
            known = tx.session(seat.id)
            main = tx.session(seat.main.id) if seat.child else known
            if main is not None and self._is_held(main, seat):
                return Said()  # it was started elsewhere just now
            if known is not None and known.process == seat.process:
                turn.prove(self._room, tx, known, proof)
            elif known is not None and host.is_gone(known.process):
                turn.prove(self._room, tx, known, proof.told)
            if known is not None and (failure := self._failure(tx, known)) is not None:
                turn.fail(self._room, tx, known, proof, failure)
            is_known = known is not None and known.ended_at is None
            if kind is Kind.END or (kind is Kind.CHILD_STOP and not is_known):
                self._known = known
                if known is not None and (known.process == seat.process or host.is_gone(known.process)):
                    self._leave(tx, known)
                return Said()
            session, agent = current(self._room, tx, seat, anew=self._is_anew(seat, known))
            self._session, self._agent, self._known = session, agent, session
            self._try_again(tx, session, is_begun=kind is Kind.START and session != known)
            self._offering = self._offer(tx, session, agent)
            if kind is Kind.CHILD_STOP and self._offering is None:
                self._leave(tx, session)
        if known is None and (words := self._in_vain()):
            journal.note(self._room.home, self._words, f"{words}It is {agent.address}.")
        try:
            watch = self._settle_in(agent)
        except OSError as exc:  # then it is not woken, and its hooks always ask
            journal.note(self._room.home, self._words, exc)
            watch = ""
        return self._runtime.say(self._point, Words(self._text(agent), watch))

    def _is_held(self, known: Session, seat: Seat) -> bool:
        """Whether a session is another process's, from which only a start takes it."""
        return self._point.kind is not Kind.START and goes_on_elsewhere(known, seat.process)

    def _in_holder(self, known: Session, seat: Seat) -> Seat | None:
        """The seat in the process that holds the session, if this hook is its; if not, nothing is done here.

        What goes on in another process has not ended with this one either.
        """
        from postroom.hooks.holder import is_part, tell  # noqa: PLC0415 - rarely

        if is_part(known, self._point.kind):
            return seat._replace(process=known.process)
        if self._point.kind is Kind.END:
            self._known = self._room.store.look().session(seat.id)
        else:
            tell(self._room.home, self._words, known, seat)
        return None

    def _take_in(self, seat: Seat) -> None:
        """What the agent could only leave in its workspace, because its sandbox let it write nowhere else."""
        session = seat.main.id
        if places := occupied(self._room.home, session, self._beat.cwd or os.getcwd()):
            from postroom.hooks.intake import take_in  # noqa: PLC0415 - rarely

            take_in(self._room, session, places)

    def _seat(self) -> Seat:
        beat, pid = self._beat, above.agent()
        if not pid:
            raise ValueError("it was not an agent that ran this hook, or it is gone")
        details: Json = {"key": self._key, "cwd": beat.cwd, "transcript": beat.transcript}
        if self._point.kind in _BEGIN:
            details["started"] = True
            self._is_amid = beat.rests and is_amid(beat.transcript, self._runtime.marks)
            if self._is_amid:
                details["amid"] = True
            if not self._is_heard() and beat.source != "resume":
                details["greet"] = True
        if self._runtime.socket_env and self._room.settings.wake_by_socket == "on":
            details["socket"] = os.environ.get(self._runtime.socket_env, "")
        return Seat(
            self._runtime.name, beat.session, beat.child, beat.child_type, host.identity_of(pid), beat.cwd,
            details, follows=beat.source == "clear",
        )  # fmt: skip

    def _is_heard(self) -> bool:
        return self._beat.heard and self._point.kind is not Kind.COMPACT

    def _at_its_beginning(self, seat: Seat, known: Session | None) -> Seat:
        """With what surrounds it, which is asked once, before there is a lock to hold others up with."""
        if known is not None and known.ended_at is None and known.process == seat.process:
            return seat
        from postroom.hooks.around import around  # noqa: PLC0415 - once in a session

        around_it = around(self._runtime, seat.process, seat.cwd)
        return seat._replace(around=around_it, follows=seat.follows or self._is_alone(seat.process))

    def _is_alone(self, process: str) -> bool:
        """Whether its process has one conversation at a time: no event may tell that it went to another."""
        crowds = self._runtime.crowds
        words = () if crowds is None else host.started_with(process)[0]
        return bool(words) and not any(word in words for word in crowds or ())

    def _is_anew(self, seat: Seat, known: Session | None) -> bool:
        """Whether a context begins; not if another event has told first of the same start."""
        if known is None or known.ended_at is not None or known.process != seat.process:
            return self._point.kind in _BEGIN
        told = self._beat.source == "startup" or not known.details.get("started")
        return self._point.kind in _BEGIN and not (told and self._beat.source in _STARTS)

    def _proof(self) -> turn.Proof:
        """What this event proves: nothing by itself where it begins another context."""
        proves = self._beat.proves and self._point.kind not in _BEGIN
        points = [p for p in self._runtime.points if proves and self._point.event in p.proven_by]
        # A wake may wait behind a turn: that it is lost can be told only where the runtime notes its queue.
        told = [p for p in points if p.kind is not Kind.WAKE or self._runtime.marks.queue]
        return turn.Proof(
            frozenset(p.route for p in points),
            frozenset(p.route for p in told),
            self._began,
            self._trace,
            late=self._wakes(),
            fails=self._beat.failure is not None,
        )

    def _wakes(self) -> frozenset[str]:
        """The routes by which mail begins a turn: it may wait in the runtime's queue for that."""
        return frozenset(p.route for p in self._runtime.points if p.kind is Kind.WAKE)

    def _queued(self, session: Session) -> frozenset[str]:
        """The nonces of what waits in the runtime's queue, which a compaction does not empty."""
        wakes, look = self._wakes(), self._room.store.look()
        held = [mail.delivery for mail in look.offered(session.agent, session.process)] if wakes else []
        return frozenset(
            one.nonce or ""
            for one in held
            if one.route in wakes
            and self._trace(one.route, one.nonce or "", one.handed_at or 0) in (Trace.UNDECIDED, Trace.QUEUED)
        )

    def _trace(self, route: str, nonce: str, handed_at: int) -> Trace:
        """What the conversation tells of something that was offered by a route."""
        if (known := self._traces.get((route, nonce))) is not None:
            return known  # of all messages in one frame
        point = next((p for p in self._runtime.points if p.route == route), self._point)
        found = self._conversation.trace(
            nonce, handed_at, after_tool=point.kind is Kind.TOOL, wake=point.kind is Kind.WAKE
        )
        if not point.recorded and found not in (Trace.SHOWN, Trace.FAILED, Trace.TAKEN_BACK):
            found = Trace.UNREADABLE
        self._traces[route, nonce] = found
        return found

    def _await_transcript(self, seat: Seat, proof: turn.Proof) -> None:
        """Read what the transcript tells, before there is a lock to hold others up with.

        At the end of a turn nothing more may happen here for a while, and runtimes write a little late.
        """
        look, began = self._room.store.look(), time.monotonic()
        session, patience = look.session(seat.id), _PATIENCE if self._point.kind in _LAST else 0.0
        self._open_transcript(began + _LOOKING)
        while session is not None and turn.is_undecided(look, session, proof):
            if time.monotonic() > began + patience:
                return
            time.sleep(_PAUSE)
            self._open_transcript(began + _LOOKING)

    def _open_transcript(self, until: float) -> None:
        self._traces.clear()
        self._conversation = Conversation(self._beat.transcript, self._runtime.marks, until)

    def _failure(self, tx: "WriteTx", known: Session) -> Failure | None:
        """Why a turn has ended, if no model answered: the event tells it, or the conversation at its end."""
        if self._point.kind is not Kind.END:
            return self._beat.failure
        refusal = tx.refusal(scope_of(known.agent))
        return self._conversation.failure(max(known.started_at, refusal.at if refusal else 0))

    def _try_again(self, tx: "WriteTx", session: Session, *, is_begun: bool) -> None:
        """Whose requests were refused: an answer ends that, and a session that a person starts tries it."""
        refusal = tx.refusal(scope_of(session.agent))
        if refusal is None:
            return
        from postroom.room.refusal import answered, let_out  # noqa: PLC0415 - rarely

        if self._has_answered(refusal.at):
            answered(tx, session.agent, self._began)
        elif is_begun and self._beat.source in _STARTED:
            let_out(tx, session.agent)

    def _has_answered(self, since: int) -> bool:
        """Whether this event implies that the model has answered after a moment."""
        implies = any(self._point.event in p.proven_by for p in self._runtime.points) and self._beat.proves
        if not implies or self._point.kind in _BEGIN or self._began <= since:
            return False
        return self._conversation.failure(since) is None

    def _offer(self, tx: "WriteTx", session: Session, agent: Agent) -> turn.Offering | None:
        kind, stops = self._point.kind, Stops(self._run, session)
        if kind is Kind.PROMPT and self._is_typed():
            stops.forget()
        self._lent = self._is_lent()
        if self._lent or not self._point.proven_by or not self._is_heard():
            return None
        if self._beat.rests and not self._is_amid:
            return None  # a turn may never follow: `_hand_over` has one begin
        if kind is Kind.WAKE and not self._is_idle():
            return None
        offering = turn.offer(
            self._room, tx, agent, session, route=self._point.route, budget=self._budget(),
            wanted=turn.is_urgent if kind in _STOPS and not stops.may_go_on(tx.now) else None,
        )  # fmt: skip
        if offering is not None and kind in _STOPS:
            stops.count(tx.now)
        return offering

    def _budget(self) -> int:
        return max(SMALLEST, self._runtime.budget - len(self._greeting(self._agent)))

    def _is_typed(self) -> bool:
        """Whether a person has said something: a wake and a stop that went on come as prompts, too."""
        prompt = self._beat.prompt
        return bool(prompt) and NUDGE not in prompt and not holds_frame(prompt)

    def _is_lent(self) -> bool:
        """Whether what is said now would reach a subagent of whom the runtime tells nothing."""
        lent = Lent(self._run, self._beat.session)
        if self._beat.lends is not None:
            lent.note(begins=self._beat.lends)
        elif self._point.kind is not Kind.TOOL:
            lent.forget()
        return self._point.kind is Kind.TOOL and lent.is_lent()

    def _is_idle(self) -> bool:
        """Whether the model is not at work, as far as anybody can tell."""
        from postroom.model.presence import Presence  # noqa: PLC0415 - for wakes only
        from postroom.room.reach import doing, last_sign  # noqa: PLC0415

        session = self._session
        if session is None:
            return True
        sign = last_sign(self._room.home, session)
        does = doing(self._room.store.look(), session, self._runtime, sign)
        return does in (Presence.IDLE, Presence.UNKNOWN)

    def _leave(self, tx: "WriteTx", session: Session) -> None:
        end(self._room, tx, session)
        Stops(self._run, session).forget()
        Lent(self._run, self._beat.session).forget()
        if self._beat.child:
            return
        dismiss(self._room.home, (session.id,))
        others = [one for one in tx.sessions_hosted(session.process) if one.id != session.id]
        if not any(one.details.get("key") == self._key for one in others):
            self._room.quiet.unlink(self._key)
            dismiss(self._room.home, (self._key,))
        if not any(map(bears, tx.sessions(session.agent))):
            self._room.ring.remove(session.agent)  # else another has taken its place

    def _settle_in(self, agent: Agent) -> str:
        """Let the session's hooks find their agent's marker, and be woken; what it must watch for that."""
        if self._beat.child:
            return ""
        if self._key:
            self._room.quiet.link(self._key, ".shared" if self._is_shared(agent) else agent.id)
        if self._is_to_be_greeted() and not self._greets():
            self._room.quiet.loosen(self._key)  # so that its hooks ask until it is
        if self._point.kind is not Kind.START and self._room.ring.has(agent.id):
            return ""
        make_secret(self._room.home)
        if self._session is not None and self._beat.cwd:
            appoint(self._room.home, (self._session.id, self._key), self._beat.cwd)
        path = self._room.ring.put(agent.id, self._call())
        return path if self._runtime.wake is Wake.WATCH and self._point.kind is Kind.START else ""

    def _is_shared(self, agent: Agent) -> bool:
        """Whether the key that names the session in the shell names one of another agent, too."""
        session = self._session
        if session is None or self._key == self._beat.session:
            return False
        hosted = self._room.store.look().sessions_hosted(session.process)
        return any(one.agent != agent.id and one.details.get("key") == self._key for one in hosted)

    def _call(self) -> str:
        """Which session must be called to wake it, if that is the way."""
        if self._session is None or self._runtime.call is None:
            return ""
        from postroom.room.call import call_of  # noqa: PLC0415 - once in a session

        return self._session.id if call_of(self._runtime, self._session) is not None else ""

    def _text(self, agent: Agent) -> str:
        frame = self._offering.frame.text if self._offering else ""
        return self._greeting(agent) + frame

    def _is_to_be_greeted(self) -> bool:
        """Whether its conversation does not say whose it is, because nothing could be said at its start."""
        return self._session is not None and bool(self._session.details.get("greet"))

    def _greets(self) -> bool:
        if self._point.kind in _FIRST:
            return self._is_heard() and self._beat.source != "resume"
        return self._point.kind in _LATER and not self._lent and self._is_to_be_greeted()

    def _greeting(self, agent: Agent | None) -> str:
        if agent is None or self._session is None or not self._greets():
            return ""
        from postroom.hooks.greeting import greeting  # noqa: PLC0415 - once in a conversation

        return greeting(self._room.home, agent, self._session, is_child=self._point.kind is Kind.CHILD)

    def _in_vain(self) -> str:
        if self._session is None or not self._session.details.get("asked"):
            return ""
        from postroom.hooks.greeting import in_vain  # noqa: PLC0415 - rarely

        return in_vain(self._session)

    def succeeded(self) -> None:
        """All of it was written."""
        self._hand_over()
        if self._known is None or self._room.settings.record_tools != "on":
            return
        try:
            from postroom.hooks.tools import record  # noqa: PLC0415 - off, as a rule

            record(self._room, self._runtime, self._known, self._beat.transcript)
        except Exception as exc:  # what an agent did is worth less than its mail
            journal.note(self._room.home, self._words, exc)

    def _hand_over(self) -> None:
        if self._session is None or self._agent is None:
            return
        if self._is_to_be_greeted() and self._greets():
            with Unit(self._room, prompt=False) as tx:
                greeted(tx, self._agent, self._session)
        if self._offering is not None:
            turn.hand_over(self._room, self._offering, self._session)
            return
        if self._beat.rests and self._room.store.look().ready(self._agent.id, 1, self._agent.called):
            from postroom.room.wake import start  # noqa: PLC0415 - after a compaction

            start(self._room.home, [self._agent.id])
        is_stop = self._point.kind is Kind.STOP
        if is_stop:
            self._room.idle(self._agent.address)
        if is_stop or not self._room.store.look().watched(self._agent.id):
            self._room.hush(self._above())

    def _above(self) -> str:
        """Whose marker the session's hooks look at."""
        assert self._agent is not None
        return self._agent.address.rpartition(".")[0] if self._beat.child else self._agent.address

    def failed(self) -> None:
        """It was not written: nobody has seen it."""
        for mail in self._offering.mails if self._offering else ():
            self._room.give_up(mail)
