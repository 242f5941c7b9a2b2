"""What a command does when a sandbox keeps it out of the room: it leaves a letter for the next hook."""

import os
from typing import TYPE_CHECKING, Any

from postroom import clock, config
from postroom.errors import NoIdentity, StoreReadOnly
from postroom.model import ids

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.room.local import LocalRoom

_TIMES = ("after", "expires")


def spool(
    problem: StoreReadOnly, args: "argparse.Namespace", context: "Context", verb: str, words: dict[str, Any]
) -> int:
    """Leave the letter, and say that it is not stored; the problem itself where nothing could come of it."""
    from postroom.room import spool

    home, now, room = config.home(args.home), clock.wall(), context.room()
    options = words.get("options", {})
    if not spool.is_barred(home) or "attachments" in options:
        raise problem
    session, proof = _signed(room)
    for name in _TIMES:
        if isinstance(options.get(name), float):
            options[name] = now + int(options[name] * 1000)
    new = ids.message_id(now, int.from_bytes(os.urandom(4)))
    letter: dict[str, Any] = {
        "id": new, "verb": verb, "claim": args.caller or "",
        "inherited": os.environ.get("POSTROOM_AGENT", ""), "sessions": [session] if session else [],
        "token": proof, "project": args.project or os.environ.get("POSTROOM_PROJECT") or "", "words": words,
    }  # fmt: skip
    try:
        path = spool.put(home, os.getcwd(), letter)
    except StoreReadOnly as exc:
        raise StoreReadOnly(
            f"{problem}; nor can it be spooled: {exc}", hint=problem.hint, path=home
        ) from None
    context.stored(f"letter {new[-8:]} is spooled", new)
    _show(new, path, context, "of this session" if session else "in this workspace")
    if getattr(args, "wait", None) is not None:
        from postroom.errors import TimedOut

        raise TimedOut("it is spooled, and not stored: there is nothing to wait for yet")
    return 0


def _signed(room: "LocalRoom") -> tuple[str, str]:
    """Whose hooks make it their word, and what shows whose token it was written with; both may be empty.

    Reading the room is possible where writing is not, so who would be refused in there is refused here.
    """
    from postroom.room import directory
    from postroom.room.identity import spokesman
    from postroom.room.token import VARIABLE, proof

    look, witness = room.store.look(), room.scope.witness
    directory.evident(look, room.agent, room.scope)
    session = spokesman(look, witness.find(look)) if witness else ""
    token = os.environ.get(VARIABLE, "")
    if not (session or room.agent or token):
        raise NoIdentity
    return session, proof(token) if token else ""


def _show(letter: str, path: str, context: "Context", whose: str) -> None:
    if context.json:
        context.put_json({"id": letter, "state": "spooled", "path": path, "deliveries": []})
    elif context.quiet:
        context.put(f"{letter}\n")
    else:
        paint = context.out.paint
        context.put(
            f"{paint(letter[-8:], 'cyan')}  {paint('spooled', 'yellow')}, not stored:"
            f" the room cannot be written from here\n  {path}: the next hook {whose} takes it in\n"
        )
