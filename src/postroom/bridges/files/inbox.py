"""An agent's inbox: the room's mail goes in as letters, and what the agent does with them tells what it saw.

Claimed and written is *offered*. Moved to `processed`, or removed while the inbox is still there, is *seen*.
What was claimed and never known to be written comes back; so does all that lay in an inbox that is gone, and
what is not there since another one took its place (`mark.py`).

Letters survive a power cut as the room does: in one set to `full` each is on the disk before it has its name.
In any other, what was not there yet is made good when the machine has started again.
"""

import time

from postroom import host
from postroom.bridges.files.arrivals import Arrivals
from postroom.bridges.files.box import HOLDER, ROUTE, Box, step
from postroom.bridges.files.letter import SUFFIX, inbox_name, is_raw, letters, numbered, own_id, written
from postroom.bridges.files.mark import Mark
from postroom.bridges.files.shelf import MARK, Folder, is_read
from postroom.errors import BridgeError, InvalidLetter, MailboxGone, MailboxLeased
from postroom.model.ladder import Evidence, Outcome, State
from postroom.model.message import Mail, Message, Session
from postroom.room import berth, push, turn
from postroom.room.offer import claim, guard_lease
from postroom.room.seat import Seat
from postroom.room.session import context, return_unproven, start
from postroom.room.settle import see
from postroom.room.sweep import act_on_due, give_back, is_due, reap, still
from postroom.room.unit import Unit
from postroom.store.contract import ReadTx, WriteTx

_MOST = 400  # letters that lie in an inbox unread; the others wait in the room
_BATCH = 50  # of them are written at a time
_SPARE = 4096  # bytes by which a letter may be longer than it would be now
_TIDY = 5.0  # seconds after which we put away what the agent has acknowledged, and left
_LATER = 5.0  # seconds after which an inbox that could not be written is tried again
_TRIAL = ".trial"  # what is written into it first then: nothing is claimed that cannot be put there
_SURE = 1.0  # seconds for which an inbox must outlive a letter in it that was removed: all of it may be going


class Moved(BridgeError):
    """Another inbox is served by now: it has taken the place of the one that was, or another carrier has
    found that gone, and begun a context in the next one.
    """


class Inbox:
    """One mailbox's. Every call may raise `MailboxGone`, or another `BridgeError`."""

    def __init__(self, box: Box) -> None:
        self._box, self._room, self._shelf = box, box.room, box.shelf
        self._mark = Mark(self._room.home, box.id, box.shelf)
        self._is_old = False  # the mark: letters were put there since
        self._missed: dict[int, float] = {}  # letters that are not there, and since when, by their numbers
        self._lying = 0  # letters in it, as of the last look
        self._done: dict[str, float] = {}  # letters that are acknowledged and still there, and since when
        self._arrivals = Arrivals(box, self._check_context)  # what others write straight into it
        self._stuck = 0  # bytes of the letter that could not be written
        self._resumes = 0.0  # when that is tried again, on the monotonic clock
        self.why = ""  # why nothing can be written, for people

    # its context

    def enter(self) -> None:
        """Begin to use it; whether it is the one that was used before is told by the mark in it."""
        boot = self._boot()
        self._mark.ask_again()
        is_same = self._mark.is_same()
        session = berth.occupy(self._room, self._box.agent, ROUTE, HOLDER, cwd=self._room.home)
        self._take_over(session)
        lies = push.handed(self._room, session, ROUTE)
        try:
            if boot is None and lies:
                session = self._anew(session)
            elif lies and not (is_same and boot == host.boot()):
                self._recover(lies, is_whole=boot == host.boot())
            if not is_same or boot != host.boot() or self._shelf.is_slow:
                self._mark.put()
        except FileNotFoundError:
            raise MailboxGone from None
        self._box.session = session

    def _take_over(self, session: Session) -> None:
        """What lies in a context that is over nobody looks after."""
        where = context(session)
        stale = [
            mail
            for mail in self._room.store.look().offered(self._box.id, HOLDER)
            if mail.delivery.route == ROUTE and mail.delivery.context != where
        ]
        if stale:
            self._give_back(stale, Outcome.UNCERTAIN)

    def check_context(self) -> None:
        """`Moved` if another one has begun; it may have while we wrote."""
        self._check_context(self._room.store.look())

    def _check_context(self, tx: ReadTx | WriteTx) -> None:
        known = tx.session(self._session.id)
        if known is None or known.epoch != self._session.epoch:
            self._missed.clear()
            raise Moved

    def leave(self) -> None:
        """It is gone, and with it what lay in it: that waits again, labelled, for the next one."""
        session, self._box.session = self._box.session, None
        self._missed.clear()
        if session is not None and push.handed(self._room, session, ROUTE):
            self._anew(session)

    def is_there(self) -> bool:
        return self._shelf.has(Folder.INBOX, MARK)

    def _boot(self) -> str | None:
        """When this machine was started as it was marked; None: it was not."""
        try:
            return self._mark.boot()
        except FileNotFoundError:
            self._names()  # or it is gone altogether
            return None

    def _anew(self, session: Session) -> Session:
        with self._room.write() as tx:
            return_unproven(self._room, tx, session)
            seat = Seat(ROUTE, self._box.id, "", "", HOLDER, self._room.home, session.details)
            return start(tx, self._box.agent, seat, session.epoch + 1)

    def _recover(self, lies: list[Mail], *, is_whole: bool) -> None:
        """A power cut may have taken letters, or what they say, and another inbox need never have had them:
        nobody need have read them. `is_whole`: what there is says what it said.
        """
        names, lost = set(self._names()), list[Mail]()
        for mail in lies:
            if self._lies(mail, names):
                if not is_whole and not is_raw(mail.message):
                    self._write(mail)
            elif not self._is_whole(mail):
                lost.append(mail)
        self._give_back(lost, Outcome.UNCERTAIN)

    def _is_whole(self, mail: Mail) -> bool:
        """Whether what was put away as read is what had been written."""
        if is_raw(mail.message):
            return self._is_read(mail)
        name, most = inbox_name(mail.message), len(self._written(mail)) + _SPARE
        try:
            [found] = letters(self._shelf.read(Folder.READ, name, most).data)
        except (FileNotFoundError, InvalidLetter, ValueError):
            return self._shelf.has(Folder.READ, f"{name}.gz")
        return found.id == mail.id

    # out of the room

    def put(self) -> bool:
        """Write the next letters; whether there may be more. `why` tells what is in the way."""
        if time.monotonic() < self._resumes:
            return False
        try:
            return self._put()
        except (MailboxGone, Moved):
            raise
        except BridgeError as exc:
            self.why, self._resumes = str(exc), time.monotonic() + _LATER
            return False

    def _put(self) -> bool:
        if self.why:
            self._try()
        mails = self._claimed()
        if not mails:
            return False
        step("inbox-claimed")
        done: list[Mail] = []
        try:
            for mail in mails:
                is_known = bool(done) and self._shelf.is_slow
                self._write(mail, beside="" if is_known else MARK)
                done.append(mail)
                step("inbox-written")
            host.give_way()
        except FileNotFoundError:
            raise MailboxGone from None
        except BridgeError:
            self._stuck = len(self._written(mails[len(done)]))
            raise
        finally:
            self._hand(done, mails[len(done) :])
        step("inbox-handed")
        return len(mails) == _BATCH

    def _try(self) -> None:
        """Whether the letter could be written by now that could not."""
        try:
            self._shelf.write(Folder.INBOX, _TRIAL, b" " * self._stuck, lasting=False)
            self._shelf.remove(Folder.INBOX, _TRIAL)
        except FileNotFoundError:
            raise MailboxGone from None
        self.why = ""

    def _claimed(self) -> list[Mail]:
        party, settings = self._box.id, self._room.settings
        space = min(_BATCH, _MOST - self._lying)
        waits = self._room.store.look().count_ready(party, 2) if space > 0 else 0
        if not waits:
            return []
        where = context(self._session)
        with Unit(self._room, prompt=False, lasting=False) as tx:  # it is not told before it is written
            self._check_context(tx)
            standing, first = tx.next(party, HOLDER)
            mails = [first] if first is not None else []
            if standing.holder is not None or standing.others or is_due(standing.due, tx.now):
                act_on_due(tx, settings)
                reap(tx, party, settings)
                if self._is_listened_to(tx):
                    return []  # a program of the agent's own has the next one
                mails = tx.ready(party, space)
            elif waits > 1:
                mails = tx.ready(party, space)
            return [
                claim(tx, mail, route=ROUTE, context=where, handed=False, lease=settings.lease_seconds)
                for mail in mails
            ]

    def _is_listened_to(self, tx: WriteTx) -> bool:
        lease = tx.lease(self._box.id)
        try:
            guard_lease(tx, self._box.id, self._room)
        except MailboxLeased:
            return True
        return lease is not None and lease.holder == host.identity()

    @property
    def _session(self) -> Session:
        if self._box.session is None:
            raise MailboxGone
        return self._box.session

    def _hand(self, done: list[Mail], others: list[Mail]) -> None:
        """Those are in the inbox from now on; of the others nothing was written."""
        if done:
            turn.hand_all(self._room, done, self._session.process)
            self._lying += len(done)
            self._is_old = True
        if others:
            self._give_back(others, Outcome.REFUSED)

    def _give_back(self, mails: list[Mail], outcome: Outcome) -> None:
        with Unit(self._room, prompt=False) as tx:
            for mail in still(tx, mails):
                give_back(tx, mail, self._room.settings, outcome)

    def _write(self, mail: Mail, beside: str = MARK) -> None:
        is_lasting = self._room.settings.durability == "full"
        name, data = inbox_name(mail.message), self._written(mail)
        self._shelf.write(Folder.INBOX, name, data, lasting=is_lasting, beside=beside)

    def _written(self, mail: Mail) -> bytes:
        message = mail.message
        return written(mail, message.writer(self._box.project), self._reply_to(message))

    def _reply_to(self, message: Message) -> str | None:
        """What it answers, by the reader's own id if the reader wrote that in this mailbox."""
        answered = self._room.store.look().message(message.reply_to) if message.reply_to else None
        if answered is None or answered.sender_id != self._box.id:
            return message.reply_to
        return own_id(answered) or message.reply_to

    # what became of it

    def settle(self, *, is_told: bool = True) -> float | None:
        """See what was taken out, and take in what others have put there; in how many seconds more will be
        known, if that is so. `is_told`: something has come, or gone, or nobody tells of that.
        """
        lies = push.handed(self._room, self._session, ROUTE)
        names = set(self._names())
        missing = [mail for mail in lies if not self._lies(mail, names)]
        if missing and not self.is_there():
            raise MailboxGone
        if missing and not self._is_same_or_read(missing):
            self._missed.clear()
            raise Moved
        self._renew()
        was_full, self._lying = self._lying >= _MOST, len(lies) - self._see(missing)
        others = names - {inbox_name(mail.message) for mail in lies}
        self._tidy(others)
        raw = {name for name in others if name.endswith(SUFFIX) and numbered(name) is None}
        more = self._arrivals.take_in(raw, self._session, is_told=is_told)
        if more == 0.0:
            return 0.0
        if was_full and self._lying < _MOST:
            return 0.0  # there may be more that waits for the space
        due = [at + _SURE for at in self._missed.values()] + [at + _TIDY for at in self._done.values()]
        due += [self._resumes] if self.why else []
        due += [time.monotonic() + more] if more is not None else []
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _lies(self, mail: Mail, here: set[str]) -> bool:
        return inbox_name(mail.message) in here or (
            is_raw(mail.message) and not here.isdisjoint(self._arrivals.names(mail.message))
        )

    def _is_read(self, mail: Mail) -> bool:
        names = self._arrivals.names(mail.message) if is_raw(mail.message) else [inbox_name(mail.message)]
        return any(is_read(self._shelf, name) for name in names)

    def _is_same_or_read(self, missing: list[Mail]) -> bool:
        """Where another inbox took the place of ours, only what was put away was taken."""
        return self._mark.is_same() or all(map(self._is_read, missing))

    def _renew(self) -> None:
        """A copy from before the last letters is known by its mark then, where nothing else tells."""
        try:
            if self._is_old and self._shelf.is_slow:
                if not self._mark.is_same():  # what lay there would count as taken from now on
                    raise Moved
                self._mark.put()
        except FileNotFoundError:
            raise MailboxGone from None
        self._is_old = False

    def _names(self) -> list[str]:
        try:
            return self._shelf.names(Folder.INBOX)
        except FileNotFoundError:
            raise MailboxGone from None

    def _see(self, missing: list[Mail]) -> int:
        """How many of these were taken."""
        now = time.monotonic()
        self._missed = {mail.delivery.seq: self._missed.get(mail.delivery.seq, now) for mail in missing}
        taken = [mail for mail in missing if self._is_taken(mail, now)]
        if not taken:
            return 0
        with Unit(self._room, prompt=False) as tx:
            for mail in still(tx, taken):
                see(tx, mail, evidence=Evidence.AGENT)
        for mail in taken:
            del self._missed[mail.delivery.seq]
        return len(taken)

    def _is_taken(self, mail: Mail, now: float) -> bool:
        long_ago = now - self._missed[mail.delivery.seq] >= _SURE
        return long_ago or self._is_read(mail)

    def _tidy(self, names: set[str]) -> None:
        """Take away what the agent has acknowledged otherwise, or what is not for it any more."""
        look, before, self._done = self._room.store.look(), self._done, {}
        for name in names:
            number = numbered(name)
            mail = look.mail(number, self._box.id) if number is not None else None
            if mail is None or inbox_name(mail.message) != name:
                continue  # it is none of ours
            if mail.delivery.state in (State.SEEN, State.ACKED):
                self._finish(name, before.get(name, time.monotonic()))
            elif mail.delivery.state not in (State.STORED, State.OFFERED):
                self._shelf.remove(Folder.INBOX, name)

    def _finish(self, name: str, since: float) -> None:
        """The agent may be about to put it away itself."""
        if time.monotonic() - since < _TIDY:
            self._done[name] = since
            return
        try:
            self._shelf.move(Folder.INBOX, name, Folder.READ, name)
        except FileExistsError:
            self._shelf.remove(Folder.INBOX, name)
        except FileNotFoundError:
            pass  # the agent was quicker
