"""Taking in what a sandbox kept out of the room: the letters in a workspace's outbox (see `room/spool.py`).

A file there may have been put by anybody who can write in the workspace. It is read without following
links, believed only with the room's mark, and never run. What cannot be believed is put aside, and noted.
"""

import contextlib
import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from postroom.errors import PostroomError, StoreError
from postroom.hooks import journal
from postroom.model.ids import is_uuid
from postroom.model.message import Json
from postroom.room import directory, spool
from postroom.room.bounce import notify
from postroom.room.identity import HOOK, UNVERIFIED, Evidence, Witness, by_token
from postroom.room.seat import is_live
from postroom.room.wake import VERB, start

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx

MOST = 100  # letters that are done with in a visit: the agent waits meanwhile
_LARGEST = 8 << 20  # bytes
_STALE = 60.0  # seconds
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_DIRECTORY", 0)


class Letter(NamedTuple):
    """What a file in an outbox says."""

    id: str
    verb: str  # send, reply, ack or wake
    claim: str  # --as
    inherited: str  # POSTROOM_AGENT
    sessions: list[str]  # whose word it is; of several, nobody's
    project: str
    words: Json  # what the verb is about
    token: str = ""  # the proof of one, see `room/token.py`


def take_in(room: "LocalRoom", session: str, places: list[str]) -> None:
    """Do what the letters in some places ask for, each once. Nothing is raised."""
    for place in places:
        try:
            _empty(room, session, place)
        except Exception as exc:
            journal.note(room.home, ["spool", place], exc)


def left(room: "LocalRoom", place: str) -> int:
    """How many letters lie there that no session which lives will take in, or are none."""
    found = 0
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        outbox = _outbox(stack, place)[1]
        key, look = spool.secret(room.home), room.store.look()
        for name in _names(outbox):
            try:
                found += _whose(look, "", _read(outbox, name, key))[1]
            except FileNotFoundError:
                pass  # it was taken in just now
            except Exception:  # whatever somebody put there
                found += 1
    return found


def _empty(room: "LocalRoom", session: str, place: str) -> None:
    with contextlib.ExitStack() as stack:
        base, outbox = _outbox(stack, place)
        key, done = spool.secret(room.home), 0
        for name in _names(outbox):
            try:
                letter = _read(outbox, name, key)
                evidence, ours = _whose(room.store.look(), session, letter)
                if not ours:
                    continue  # however many they are, what is ours comes in
                if _obey(room, place, letter, evidence):
                    os.unlink(name, dir_fd=outbox)
            except FileNotFoundError:
                pass  # another hook was faster
            except Exception as exc:  # whatever somebody put there
                journal.note(room.home, ["spool", name], exc)
                _put_aside(base, outbox, name)
            done += 1
            if done == MOST:
                break
        _clear(outbox)
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(spool.OUTBOX, dir_fd=base)


def _clear(outbox: int) -> None:
    """Half a letter of who was killed while it wrote; nobody writes for long."""
    now = time.time()
    for name in os.listdir(outbox):
        with contextlib.suppress(OSError):
            if name.startswith(".") and now - os.lstat(name, dir_fd=outbox).st_mtime > _STALE:
                os.unlink(name, dir_fd=outbox)


def _outbox(stack: contextlib.ExitStack, place: str) -> tuple[int, int]:
    """Our directory in a place, and the outbox in that."""
    base = _folder(stack, spool.BASE, _folder(stack, place, None))
    return base, _folder(stack, spool.OUTBOX, base)


def _names(outbox: int) -> list[str]:
    return sorted(name for name in os.listdir(outbox) if not name.startswith("."))


def _folder(stack: contextlib.ExitStack, name: str, parent: int | None) -> int:
    """A directory of our own, and no link to one."""
    opened = os.open(name, os.O_RDONLY if parent is None else _FOLDER, dir_fd=parent)
    stack.callback(os.close, opened)
    if parent is not None and os.fstat(opened).st_uid != os.geteuid():
        raise PermissionError(f"{name} belongs to another user")
    return opened


def _read(outbox: int, name: str, key: bytes) -> Letter:
    opened = os.open(name, _READ, dir_fd=outbox)
    with open(opened, "rb") as file:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_nlink != 1:
            raise ValueError("it is not a regular file of ours")
        if about.st_size > _LARGEST:
            raise ValueError(f"it has {about.st_size:,} bytes")
        document: Any = json.loads(file.read(_LARGEST + 1))
    letter = document["letter"]
    if not key or document["mark"] != spool.mark(key, letter):
        raise ValueError("it was not written by who may read this room")
    if not is_uuid(letter["id"]) or name != f"{letter['id']}.json" or letter["verb"] not in _VERBS:
        raise ValueError("it is not a letter")
    return Letter(**{field: letter[field] for field in Letter._fields if field in letter})


def _put_aside(base: int, outbox: int, name: str) -> None:
    """Into a directory that is no link: nothing of it may end where it is run."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        with contextlib.suppress(FileExistsError):
            os.mkdir(spool.REJECTED, 0o700, dir_fd=base)
        aside = _folder(stack, spool.REJECTED, base)
        os.rename(name, name, src_dir_fd=outbox, dst_dir_fd=aside)


def _obey(room: "LocalRoom", place: str, letter: Letter, evidence: Evidence | None) -> bool:
    """Whether it is done with: not if the store failed."""
    scope, agent = room.scope, room.agent
    room.scope = directory.Scope(letter.project or None, place, _witness(letter, evidence))
    room.agent = letter.claim or letter.inherited or None
    try:
        if letter.token:
            holder = by_token(room.store.look(), room.home, letter.token, evidence)
            room.scope.witness = _witness(letter, holder)
        _VERBS[letter.verb](room, letter)
    except StoreError as exc:
        journal.note(room.home, ["spool", letter.id], exc)
        return False
    except OSError as exc:  # the disk is full, say
        journal.note(room.home, ["spool", letter.id], exc)
        return False
    except PostroomError as exc:
        return _tell(room, letter, exc)
    finally:
        room.scope, room.agent = scope, agent
    return True


def _witness(letter: Letter, evidence: Evidence | None) -> Witness | None:
    return Witness(letter.inherited, evidence) if evidence else None


def _whose(look: "ReadTx", session: str, letter: Letter) -> tuple[Evidence | None, bool]:
    """What proves who wrote it, and whether it is for us to take in."""
    known = [one for name in letter.sessions if (one := look.session(name)) is not None]
    ours = session in letter.sessions
    if not ours and any(map(is_live, known)):
        return None, False
    if not known or len(letter.sessions) > 1:
        return None, True
    return Evidence.of(known[0], HOOK if ours else UNVERIFIED), True


def _tell(room: "LocalRoom", letter: Letter, problem: PostroomError) -> bool:
    """What is refused only now becomes a letter of the room to who wrote it; whether that was done.

    What nobody can be told of raises: it is put aside, and not lost.
    """
    journal.note(room.home, ["spool", letter.id], problem)
    who = None if room.scope.witness else room.agent
    try:
        with room.write() as tx:
            notify(
                tx, directory.caller(tx, who, room.scope), f"Not done: {letter.verb}",
                f"What you left to be taken in ({letter.verb} {_about(letter)}) was refused: {problem}",
                {"spool": {"id": letter.id, "error": problem.code, "verb": letter.verb}},
                key=f"spool:{letter.id}",
            )  # fmt: skip
    except StoreError as exc:
        journal.note(room.home, ["spool", letter.id], exc)
        return False
    return True


def _about(letter: Letter) -> str:
    return str(letter.words.get("to") or letter.words.get("ref") or "")


def _send(room: "LocalRoom", letter: Letter) -> None:
    words = letter.words
    room.send(words["to"], words["body"], confirm=words["confirm"], **_options(room, letter))


def _reply(room: "LocalRoom", letter: Letter) -> None:
    room.reply(letter.words["ref"], letter.words["body"], **_options(room, letter))


def _ack(room: "LocalRoom", letter: Letter) -> None:
    room.ack(letter.words["ref"])


def _options(room: "LocalRoom", letter: Letter) -> Any:
    """As they were given, with a key by which it is taken in once, and without a moment that has come."""
    options: dict[str, Any] = {"key": f"spool:{letter.id}", **letter.words["options"]}
    if options.get("after") is not None and options["after"] <= room.now():
        del options["after"]
    return options


def _wake(room: "LocalRoom", letter: Letter) -> None:
    """Call those whom the sender could not see. A name is part of paths: only who exists is called."""
    look = room.store.look()
    start(room.home, [party for party in letter.words["parties"] if look.agent(party) is not None])


_VERBS = {"send": _send, "reply": _reply, "ack": _ack, VERB: _wake}
