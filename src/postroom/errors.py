"""Every error Postroom raises, and what to run next.

    PostroomError
    ├── UsageError              what was asked makes no sense
    │   ├── InvalidAddress      ├── InvalidBody        ├── InvalidPayload
    │   ├── InvalidName         ├── InvalidValue       ├── InvalidSchema
    │   ├── InvalidAttachment   ├── InvalidQuery       ├── UnknownType
    │   ├── NoIdentity          ├── InvalidLetter      └── TooLarge
    ├── NotFound                what was named does not exist
    │   ├── UnknownRecipient    ├── UnknownAgent       ├── UnknownMessage
    │   ├── UnknownProject      ├── UnknownAttachment  ├── UnknownRuntime
    │   └── NoRoom
    ├── TimedOut                nothing happened in the time given
    ├── Refused                 it exists, but a rule forbids it
    │   ├── IllegalMove         ├── MailboxLeased      ├── StaleClaim
    │   ├── KeyConflict         ├── NameTaken          ├── NotAsked
    │   ├── AlreadyDecided      ├── LoopGuard          ├── NoAnswer
    │   ├── WaitingInCircle     ├── BroadcastGuard     ├── RouteClosed
    │   ├── RateLimited         ├── MailboxFull        ├── AlreadySetUp
    │   ├── NotYourName         ├── AlreadyRunning     ├── NotLoggedIn
    │   ├── UnknownToken        ├── TerminalTaken      ├── LacksScope
    │   ├── ForeignPage         ├── WrongDirection     ├── NotHere
    │   └── LossOpen
    ├── CannotEdit              a user's file is left as it is
    ├── NotWoken                an idle session began no turn
    ├── BridgeError             an agent cannot be reached by its bridge
    │   ├── MailboxUnreachable  ├── MailboxGone        ├── NoServer
    │   └── Orphaned
    └── StoreError              the room's file cannot serve
        ├── StoreBusy           ├── StoreFull          ├── StoreReadOnly
        ├── StoreCorrupt        ├── StoreNewer         ├── StoreForeign
        ├── StoreNetworked      ├── JournalBroken      ├── Unreachable
        ├── StoredBut           └── TooManyFiles

A class's docstring is its default message. `code` is stable: scripts and the wire rely on it.
"""

from typing import Any, cast


def sound(value: Any) -> Any:
    """The same, with whatever in its texts is no UTF-8 spelt out."""
    if isinstance(value, str):
        from postroom.text import storable  # noqa: PLC0415 - only to tell of an error

        return storable(value)
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {sound(name): sound(one) for name, one in pairs}
    if isinstance(value, (list, tuple)):
        return [sound(one) for one in cast("list[Any]", value)]
    return value


class PostroomError(Exception):
    """Something went wrong."""

    code = "error"
    hint = ""

    def __init__(self, message: str | None = None, *, hint: str | None = None, **facts: Any) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        if hint is not None:
            self.hint = hint
        if self.hint:
            self.add_note(self.hint)  # a traceback shows it too
        self.facts = facts

    def as_json(self) -> dict[str, Any]:
        """As it is told: it may quote what is refused, be that no text."""
        return sound({"error": self.code, "message": str(self), "hint": self.hint, **self.facts})


class UsageError(PostroomError):
    """The request makes no sense."""

    code = "usage"


class InvalidAddress(UsageError):
    """That is not an address."""

    code = "invalid_address"
    hint = "An address looks like backend, project/backend, human:ana, @builders, one:@builders or topic:news"


class InvalidName(UsageError):
    """That is not a name."""

    code = "invalid_name"
    hint = "A name is lower-case letters, digits, - and _, at most 64, and begins with a letter or digit."


class InvalidBody(UsageError):
    """The body cannot be stored."""

    code = "invalid_body"


class InvalidPayload(UsageError):
    """The payload is no JSON object, or does not fit its type."""

    code = "invalid_payload"
    hint = """Give a JSON object, for example: --payload '{"task_id": "T-1"}'"""


class InvalidValue(UsageError):
    """A value is out of range."""

    code = "invalid_value"


class InvalidSchema(UsageError):
    """A type's schema cannot be held."""

    code = "invalid_schema"
    hint = "Mend the type where it is registered, then: postroom types --refresh"


class UnknownType(UsageError):
    """There is no such type of message."""

    code = "unknown_type"
    hint = "See the types there are: postroom types"


class InvalidAttachment(UsageError):
    """That cannot be attached."""

    code = "invalid_attachment"
    hint = "Attach a file that has something in it. Nothing was sent."


class InvalidQuery(UsageError):
    """There is nothing in the query to search for."""

    code = "invalid_query"
    hint = 'Give words, "a phrase", begin*, -without or this OR that; see: postroom help search'


class InvalidLetter(UsageError):
    """That is not a letter."""

    code = "invalid_letter"
    hint = "See what is wrong with a file, before it is sent: postroom mailbox check FILE"


class TooLarge(UsageError):
    """That is more than one request may hold."""

    code = "too_large"


class NoIdentity(UsageError):
    """It is not clear who is calling."""

    code = "no_identity"
    hint = (
        "Say who you are: add --as NAME (a person: --as human:NAME), or set POSTROOM_AGENT. "
        "At a terminal, your login name is taken."
    )


class NotFound(PostroomError):
    """There is no such thing."""

    code = "not_found"


class UnknownRecipient(NotFound):
    """Nobody has that address."""

    code = "unknown_recipient"
    hint = "See who is here: postroom agents"


class UnknownAgent(NotFound):
    """There is no such agent."""

    code = "unknown_agent"
    hint = "See who is here: postroom agents --all"


class BridgeError(PostroomError):
    """The agent cannot be reached by its bridge."""

    code = "bridge"


class MailboxUnreachable(BridgeError):
    """The store of a mailbox cannot be reached."""

    code = "mailbox_unreachable"
    hint = "Nothing is lost: what waits there is looked for again."

    def __init__(
        self, message: str | None = None, *, advice: str = "", hint: str | None = None, **facts: Any
    ) -> None:
        super().__init__(message, hint=f"{advice} {self.hint}".lstrip() if hint is None else hint, **facts)
        self.advice = advice  # how a person finds out why, if more is known than the message says


class MailboxGone(BridgeError):
    """The inbox is not there any more."""

    code = "mailbox_gone"
    hint = "Make it again, and what lay in it comes back: postroom mailbox add DIR NAME"


class NoServer(BridgeError):
    """The agent has no server of its own that could be meant."""

    code = "no_server"


class Orphaned(BridgeError):
    """The agent is no child of this process."""

    code = "orphaned"
    hint = "Whoever started it has ended, and it with them. Start it anew: postroom spawn"


class NotWoken(PostroomError):
    """A session could not be woken."""

    code = "not_woken"
    hint = "Its mail waits for its next event. See how each is reached: postroom agents"


class UnknownRuntime(NotFound):
    """There is no such runtime."""

    code = "unknown_runtime"
    hint = "See which there are: postroom doctor"


class UnknownMessage(NotFound):
    """There is no such message."""

    code = "unknown_message"
    hint = "List what you have: postroom inbox, postroom sent"


class UnknownProject(NotFound):
    """There is no such project."""

    code = "unknown_project"
    hint = "List them: postroom projects"


class UnknownAttachment(NotFound):
    """The message has no such attachment."""

    code = "unknown_attachment"
    hint = "List what it has: postroom attachments ID"


class NoRoom(NotFound):
    """There is no room here yet."""

    code = "no_room"
    hint = "Make one by joining it: postroom join NAME"


class TimedOut(PostroomError):
    """Nothing happened in the time given."""

    code = "timed_out"


class Refused(PostroomError):
    """A rule forbids it."""

    code = "refused"


class IllegalMove(Refused):
    """The ladder has no such move."""

    code = "illegal_move"
    hint = "See how far it got: postroom receipts ID"


class StaleClaim(Refused):
    """The claim is no longer yours: the delivery was offered again."""

    code = "stale_claim"
    hint = "See who has it now: postroom receipts ID"


class MailboxLeased(Refused):
    """Another program is listening on this mailbox."""

    code = "mailbox_leased"
    hint = "Look without taking: postroom inbox"


class KeyConflict(Refused):
    """That idempotency key was used for a different message."""

    code = "key_conflict"
    hint = "Use a new --key for new content."


class NameTaken(Refused):
    """That name is taken."""

    code = "name_taken"
    hint = "See who is here: postroom agents --all"


class NotAsked(Refused):
    """Somebody else was asked to decide that."""

    code = "not_asked"
    hint = "See what waits for a decision: postroom gates"


class AlreadyDecided(Refused):
    """That has been decided."""

    code = "already_decided"
    hint = "See what waits for a decision: postroom gates"


class LoopGuard(Refused):
    """Agents go back and forth."""

    code = "loop_guard"
    hint = (
        "Let a person write in it (postroom send TO … --thread ID --as human:NAME), or begin a new thread."
        " The setting: max_hops"
    )


class NoAnswer(Refused):
    """Nobody will answer that any more."""

    code = "no_answer"
    hint = "Ask somebody else; see who is here: postroom agents"


class WaitingInCircle(Refused):
    """Two would wait for each other's answer."""

    code = "waiting_in_circle"


class BroadcastGuard(Refused):
    """It would reach very many."""

    code = "broadcast_guard"
    hint = "If they all should get it, add --yes (confirm=True). The setting: max_recipients"


class RouteClosed(Refused):
    """No route leads there."""

    code = "route_closed"
    hint = "See who may write to whom: postroom routes"


class WrongDirection(Refused):
    """The roles of sender and recipient do not fit the type of the message."""

    code = "wrong_direction"
    hint = "See: postroom types (directions), postroom agents (roles). The setting: directions"


class RateLimited(Refused):
    """That is too much for now."""

    code = "rate_limited"
    hint = "Say it in fewer messages, or wait. Nothing was stored."

    @property
    def rule(self) -> str:
        """The setting that is the limit; empty: none is."""
        return str(self.facts.get("rule", ""))

    @property
    def retry_after(self) -> float:
        """In how many seconds it may be tried again."""
        return float(self.facts.get("retry_after") or 1.0)


class MailboxFull(Refused):
    """Too much waits there already."""

    code = "mailbox_full"
    hint = "See what waits for whom: postroom agents. Nothing was stored."


class AlreadySetUp(Refused):
    """The runtime is set up in another place that applies, too."""

    code = "already_set_up"
    hint = "See how it is: postroom doctor"


class CannotEdit(PostroomError):
    """A file cannot be changed as wanted. Nothing was written."""

    code = "cannot_edit"
    hint = "See what would be added to which file: postroom setup RUNTIME --dry-run"


class NotYourName(Refused):
    """That is somebody else's name."""

    code = "not_your_name"
    hint = "Leave out that name (--as; over HTTP, `agent` or `sender`): who you are is known."


class AlreadyRunning(Refused):
    """That agent is running already."""

    code = "already_running"
    hint = "Go to it: postroom attach NAME"


class TerminalTaken(Refused):
    """Somebody else is typing into that terminal."""

    code = "terminal_taken"
    hint = "Try again in a moment."


class UnknownToken(Refused):
    """POSTROOM_TOKEN is no token of this room."""

    code = "unknown_token"
    hint = "It was revoked, or is another room's. Make one: postroom tokens issue NAME"


class NotLoggedIn(Refused):
    """It is not known who asks."""

    code = "not_logged_in"
    hint = "A browser: postroom dashboard. A program: Authorization: Bearer TOKEN; see postroom tokens"


class LacksScope(Refused):
    """The token does not reach that far."""

    code = "lacks_scope"
    hint = "Make one that does: postroom tokens issue human:NAME --scope SCOPE"


class ForeignPage(Refused):
    """Another page, or another name of this machine, is asking."""

    code = "foreign_page"
    hint = "Open the page itself: postroom dashboard"


class NotHere(Refused):
    """That needs the files of the room, which are elsewhere."""

    code = "not_here"
    hint = "Run it on the machine whose room it is."


class LossOpen(Refused):
    """The store has lost what the journals have, and that is not settled."""

    code = "loss_open"


class StoreError(PostroomError):
    """The room's store failed."""

    code = "store"


class StoreBusy(StoreError):
    """The room is busy: another process held its write lock too long."""

    code = "store_busy"
    hint = "Nothing was changed; try again. If it stays so, look for a stopped process: postroom status"


class StoreFull(StoreError):
    """The disk is full: nothing was changed."""

    code = "store_full"
    hint = "Free some space, forget old mail (postroom prune), or move the room: set POSTROOM_HOME."


class TooManyFiles(StoreError):
    """Too many files are open."""

    code = "too_many_files"
    hint = "Nothing was stored. Close some programs, or raise the limit (ulimit -n)."


class StoreReadOnly(StoreError):
    """The room can be read but not written."""

    code = "store_read_only"
    hint = "Check the permissions and the mount, or set POSTROOM_HOME to a directory you can write."


class StoreCorrupt(StoreError):
    """The room's file is damaged or is not a room."""

    code = "store_corrupt"
    hint = "Check it: postroom verify. Rebuild it from its journals: postroom replay --into NEW_HOME"


class StoreNewer(StoreError):
    """The room was made or used by a newer Postroom than this process runs."""

    code = "store_newer"
    hint = "Upgrade Postroom, and restart programs that hold the room open."


class StoreForeign(StoreError):
    """The room belongs to another user."""

    code = "store_foreign"
    hint = "Run as its owner, or set POSTROOM_HOME to a directory of your own."


class StoreNetworked(StoreError):
    """The room cannot live on a network or FUSE file system: its locks are not reliable there."""

    code = "store_networked"
    hint = "Set POSTROOM_HOME to a directory on a local disk."


class Unreachable(StoreError):
    """The room's server does not answer."""

    code = "unreachable"
    hint = "See that its daemon runs (postroom status, there), and that the address is right."


class StoredBut(StoreError):
    """The change is stored; a later step failed."""

    code = "stored_but"
    hint = "Do not repeat the command. See: postroom sent"
    problem = ""  # the later step's own words

    @property
    def id(self) -> str:
        """Return the id of the message that the change is about; empty where it is about none."""
        return str(self.facts.get("id") or "")


class JournalBroken(StoreError):
    """The journals do not tell one consistent story."""

    code = "journal_broken"
    hint = "Check the store itself: postroom verify"


def of_file(exc: OSError, what: str, **facts: Any) -> StoreError:
    """Return our error for a system's error about a file of the room."""
    import errno  # noqa: PLC0415 - only where something failed

    if exc.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return StoreFull(f"no space left: {what}", **facts)
    if exc.errno in (errno.EMFILE, errno.ENFILE):
        return TooManyFiles(f"too many files are open: {what}", **facts)
    return StoreReadOnly(what, **facts)


def stored_but(change: str, cause: Exception, id: str = "", *, hint: str = "") -> StoredBut:
    """Return the error for a failure after a change; `id` is that of the message that the change is about."""
    problem = str(cause)
    if isinstance(cause, OSError) and cause.strerror:
        problem = f"{cause.filename}: {cause.strerror}" if cause.filename else cause.strerror
    elif isinstance(cause, StoredBut):
        problem = cause.problem or problem
    facts = dict(cause.facts) if isinstance(cause, PostroomError) else {}
    if id:
        facts |= {"id": id, "message_ref": id}
        hint = f"Do not repeat the command. See: postroom receipts {id[-8:]}"
    found = StoredBut(f"{change}, but {problem}", hint=hint or None, **facts)
    found.problem = problem
    return found


def told(said: dict[str, Any], otherwise: type[PostroomError] = PostroomError) -> PostroomError:
    """The error that `as_json` has told of; one with a code that is not known here is `otherwise`."""
    facts = {key: value for key, value in said.items() if key not in ("error", "message", "hint", "self")}
    kind = _with_code(PostroomError, str(said.get("error"))) or otherwise
    return kind(str(said.get("message") or ""), hint=str(said.get("hint") or ""), **facts)


def _with_code(kind: type[PostroomError], code: str) -> type[PostroomError] | None:
    if kind.code == code:
        return kind
    return next((found for sub in kind.__subclasses__() if (found := _with_code(sub, code))), None)
