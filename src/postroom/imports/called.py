"""By which names the mail of a tree was imported: on record, so that no other name brings it in once more."""

import hashlib
import json
import shlex
from typing import Any, cast

from postroom import config, host
from postroom.errors import Refused
from postroom.imports import recognition
from postroom.imports.plan import Mail
from postroom.room.imported import is_here
from postroom.room.local import LocalRoom

_FOLDER = "imports"


def check(room: LocalRoom, mail: Mail) -> None:
    """Raises `Refused` where mail is here already, of somebody who was called otherwise when it came in."""
    before = _load(room.home, mail.source)
    was = {word: before[word] for word, new in mail.called.items() if before.get(word, new) != new}
    if not was:
        return
    earlier = recognition.plan(mail.source, mail.kind, room.settings, room.home, {**mail.called, **was})
    assert isinstance(earlier, Mail)
    refs = {piece.ref for piece in mail.pieces}
    here = sum(is_here(room, piece.ref) for piece in earlier.pieces if piece.ref not in refs)
    if here:
        words = [shlex.quote(f"{word}={old}") for word, old in was.items()]
        raise Refused(
            f"{here:,} of it {'is' if here == 1 else 'are'} here already under {', '.join(was.values())}",
            hint=f"Use the names of the first import: {' '.join(f'--rename {word}' for word in words)}",
        )


def note(room: LocalRoom, mail: Mail) -> None:
    """Before it is taken in: whoever is killed on the way is asked for the same names."""
    host.private_directory(config.beside(room.home, _FOLDER))
    called = _load(room.home, mail.source) | mail.called
    host.replace(_path(room.home, mail.source), json.dumps(called, indent=1).encode())


def _path(home: str, source: str) -> str:
    name = hashlib.sha256(source.encode(errors="backslashreplace")).hexdigest()[:16]
    return config.beside(home, _FOLDER, f"{name}.names")


def _load(home: str, source: str) -> dict[str, str]:
    try:
        with open(_path(home, source), encoding="utf-8") as opened:
            found: Any = json.load(opened)
    except (OSError, ValueError):
        return {}
    return cast("dict[str, str]", found) if isinstance(found, dict) else {}
