"""Errors as HTTP tells them: the document that `--json` prints, and a status by the kind of error."""

from collections.abc import Iterable

from postroom import errors
from postroom.errors import PostroomError

DOCUMENT = "/api/v1/openapi.json"

# The first that fits counts: what is particular stands before what it is a kind of.
_STATUSES: tuple[tuple[type[PostroomError], int], ...] = (
    (errors.TooLarge, 413),
    (errors.UsageError, 400),
    (errors.NotFound, 404),
    (errors.TimedOut, 408),
    (errors.NotLoggedIn, 401),
    (errors.UnknownToken, 401),
    (errors.RateLimited, 429),
    (errors.MailboxFull, 429),
    (errors.NotYourName, 403),
    (errors.LacksScope, 403),
    (errors.ForeignPage, 403),
    (errors.NotAsked, 403),
    (errors.RouteClosed, 403),
    (errors.WrongDirection, 403),
    (errors.Refused, 409),
    (errors.BridgeError, 409),
    (errors.CannotEdit, 409),
    (errors.NotWoken, 409),
    (errors.StoredBut, 424),  # not one that clients retry: the change is stored
    (errors.StoreFull, 507),
    (errors.StoreBusy, 503),
    (errors.StoreReadOnly, 503),
)
STATUSES = sorted({status for _, status in _STATUSES if status < 500})


def status(exc: PostroomError) -> int:
    return next((status for kind, status in _STATUSES if isinstance(exc, kind)), 500)


def advice(exc: PostroomError) -> dict[str, str]:
    """What the headers say of it."""
    if isinstance(exc, errors.RateLimited):
        return {"retry-after": str(max(1, round(exc.facts.get("retry_after") or 1)))}
    if isinstance(exc, (errors.NotLoggedIn, errors.UnknownToken)):
        return {"www-authenticate": 'Bearer realm="postroom"'}
    return {"retry-after": "1"} if isinstance(exc, errors.StoreBusy) else {}


def nowhere(path: str) -> errors.NotFound:
    """There is nothing at that path: who asks is a program, or looks for a page."""
    hint = f"See what there is: {DOCUMENT}" if path.startswith(("/api", "/ws")) else "See: /"
    return errors.NotFound(f"there is no {path[:80]!r}", hint=hint)


def no_field(name: str, known: Iterable[str], words: str) -> errors.InvalidValue:
    """What a request names is nothing that its operation has."""
    from postroom.near import meant, near  # noqa: PLC0415 - only for who is refused

    known, name = list(known), name[:80]
    told = meant(near(name, known)) or (f"It has {', '.join(known)}." if known else "It has none.")
    return errors.InvalidValue(f"{words} {name!r}", field=name, hint=f"{told} See: {DOCUMENT}")


def unexpected(exc: Exception) -> PostroomError:
    """What nobody has foreseen; the log has the rest."""
    return PostroomError(
        f"something unexpected went wrong: {type(exc).__name__}",
        hint="The daemon's log has it: postroom status",
    )
