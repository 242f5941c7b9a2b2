"""JSON to rows: what `record` writes, read back. Nonces, claimers and contexts are told to nobody: empty.

What cannot be read so was written by another version of Postroom, and is told as that.
"""

from calendar import timegm
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from postroom.errors import StoreNewer
from postroom.model.conversation import Attachment, Decision, Gate, Thread, Topic
from postroom.model.ladder import Cause, Evidence, Outcome, Priority, State
from postroom.model.manners import Manners
from postroom.model.manners import read as read_manners
from postroom.model.message import (
    Agent,
    AgentStatus,
    Attempt,
    Deferral,
    Delivery,
    Event,
    Mail,
    Message,
    Project,
    Receipts,
    Sent,
    Session,
)
from postroom.model.presence import Presence, Sight
from postroom.model.query import Hit, Snippet
from postroom.model.refusal import Refusal
from postroom.model.tally import OfAgent, OfPair, Put, Saved, Spread, Stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

P = ParamSpec("P")
T = TypeVar("T")

Document = dict[str, Any]


def _understood(read: "Callable[P, T]") -> "Callable[P, T]":
    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as exc:
            what = f"what the daemon says of a {read.__name__} is not understood here: {exc}"
            hint = "Its Postroom is of another version; compare, there and here: postroom --version"
            raise StoreNewer(what, hint=hint) from exc

    return reading


def moment(text: str | None) -> int | None:
    """`2026-11-15T21:47:03.123Z` in milliseconds since the epoch, exactly."""
    if text is None:
        return None
    date, _, rest = text.partition("T")
    year, month, day = (int(part) for part in date.split("-"))
    clock, _, fraction = rest.rstrip("Z").partition(".")
    hour, minute, second = (int(part) for part in clock.split(":"))
    return timegm((year, month, day, hour, minute, second)) * 1000 + int((fraction + "000")[:3])


def _at(text: str | None) -> int:
    return moment(text) or 0


@_understood
def message(d: Document) -> Message:
    return Message(
        seq=d["seq"], id=_text(d["id"]), tenant=d["tenant"], project=d["project"], sender_id=d["sender_id"],
        sender=d["sender"], sender_role=d["sender_role"], verified=d["verified"], to=d["to"], type=d["type"],
        cls=d["class"], subject=d["subject"], body=_text(d["body"]), thread=d["thread"],
        created_at=_at(d["created_at"]), priority=_priority(d), requires_ack=d["requires_ack"],
        sender_session=d["sender_session"], sender_runtime=d["sender_runtime"], payload=d["payload"],
        metadata=d["metadata"], reply_to=d["reply_to"], correlation=d["correlation"],
        attachments=d["attachments"] or None, not_before=moment(d["not_before"]),
        expires_at=moment(d["expires_at"]), key=d["key"], redacted=d.get("redacted"),
    )  # fmt: skip


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError(f"{found!r:.80} is no text")
    return found


def _priority(d: Document) -> Priority:
    return Priority[d["priority"].upper()]


@_understood
def delivery(d: Document, claim: str | None = None) -> Delivery:
    return Delivery(
        seq=d["seq"], message=d["message"], recipient_id=d["recipient_id"], recipient=d["recipient"],
        state=State(d["state"]), route=d["route"], evidence=_evidence(d), attempts=d["attempts"],
        unproven=d["unproven"], reason=d["reason"], priority=_priority(d), held=d["held"],
        shown_before=d["shown_before"], due_at=moment(d["due_at"]), context=None, nonce=claim, claimer=None,
        handed_at=moment(d["handed_at"]), stored_at=_at(d.get("stored_at")),
        offered_at=moment(d.get("offered_at")), seen_at=moment(d.get("seen_at")),
        acked_at=moment(d.get("acked_at")), ended_at=moment(d.get("ended_at")),
    )  # fmt: skip


def _evidence(d: Document) -> Evidence | None:
    return Evidence(d["evidence"]) if d["evidence"] else None


@_understood
def deliveries(found: "Iterable[Document]") -> list[Delivery]:
    return [delivery(one) for one in found]


@_understood
def mail(d: Document) -> Mail:
    return Mail(message(d), delivery(d["delivery"], d.get("claim")))


@_understood
def bundle(d: Document) -> list[Mail]:
    return [mail(one) for one in d["mails"]]


@_understood
def held(d: Document) -> tuple[str, int, int | None]:
    return d["reason"], d["messages"], moment(d["due_at"])


@_understood
def attachment(d: Document) -> tuple[int, Attachment]:
    """Its number in its message, and what is said of it; its content is nowhere here yet."""
    return int(d["n"]), Attachment(str(d["name"]), str(d["media_type"]), int(d["size"]), str(d["sha256"]), "")


@_understood
def sent(d: Document) -> Sent:
    ways = {one["recipient_id"]: sight(one["session"], one) for one in d["deliveries"] if "session" in one}
    return Sent(
        message(d["message"]), deliveries(d["deliveries"]), [one["reach"] for one in d["deliveries"]],
        d["duplicate"], d["note"] or "", d["held_back"], ways or None,
    )  # fmt: skip


@_understood
def posted(d: Document) -> tuple[Message, list[Delivery]]:
    return message(d), deliveries(d["deliveries"])


@_understood
def hit(d: Document) -> Hit:
    said = d["snippet"]
    marks = [(start, end) for start, end in said["marks"]]
    return Hit(message(d), deliveries(d["deliveries"]), Snippet(said["field"], said["text"], marks))


@_understood
def receipts(d: Document) -> Receipts:
    attempts = [attempt(one, each["seq"]) for each in d["deliveries"] for one in each["history"]]
    deferrals = [_deferral(one["deferral"], one) for one in d["deliveries"] if one.get("deferral")]
    return Receipts(message(d["message"]), deliveries(d["deliveries"]), attempts, deferrals)


def _deferral(d: Document, of: Document) -> Deferral:
    return Deferral(of["recipient_id"], d["words"], d["n"], d["limit"], _at(d["at"]))


def attempt(d: Document, seq: int) -> Attempt:
    return Attempt(
        seq, d["recipient_id"], d["n"], d["route"], d["context"], d["nonce"] or "", d["claimer"],
        _at(d["claimed_at"]), moment(d["handed_at"]), Outcome(d["outcome"]), _evidence(d),
        moment(d["ended_at"]), d["missing"], Cause(d["cause"]) if d.get("cause") else None,
    )  # fmt: skip


@_understood
def agent(d: Document) -> Agent:
    return Agent(
        d["id"], d["tenant"], d["project"] or "", d["name"], d["address"], d["role"], d["capabilities"],
        d["description"], d["supervisor"], _at(d["created_at"]), moment(d["left_at"]), d["wishes"],
    )  # fmt: skip


@_understood
def manners(d: Document) -> Manners:
    return read_manners(d["wishes"])


@_understood
def status(d: Document) -> AgentStatus:
    sights = tuple(sight(one, d) for one in d["sessions"])
    return AgentStatus(
        agent(d), d["waiting"], d["offered"], d["reach"], d["listening"], d["held"], sights, d["uncertain"],
        api_error(d["api_error"]) if d.get("api_error") else None,
    )  # fmt: skip


def api_error(d: Document) -> Refusal:
    return Refusal(
        "", d["reason"], d["words"], d["attempts"], _at(d["since"]), _at(d["at"]), _at(d["next_attempt_at"])
    )


def sight(d: Document, of: Document) -> Sight:
    """A session as it was seen where it runs."""
    details = {key: d[key] for key in ("bridge", "asked") if d.get(key)}
    party = str(of.get("recipient_id") or of["id"])
    session = Session(
        d["id"], str(of.get("tenant", "local")), party, d["runtime"] or "", "", d["pane"], d["worktree"],
        d["branch"], 0, 0, None, 0, details,
    )  # fmt: skip
    return Sight(
        session, Presence(d["presence"]), d["event"] or "", moment(d["since"]), d["runtime"] or "",
        d["wake"] or "", d["proven"], d["because"] or "",
    )  # fmt: skip


@_understood
def project(d: Document) -> Project:
    return Project(d["name"], d["root"] or "", _at(d["created_at"]))


@_understood
def topic(d: Document) -> Topic:
    return Topic(d["name"], d["project"], d["subscribers"], d["messages"], moment(d["latest_at"]))


@_understood
def thread(d: Document) -> Thread:
    return Thread(
        d["thread"], d["summary"], d["participants"], d["messages"], d["unread"], message(d["latest"])
    )


@_understood
def gate(d: Document) -> Gate:
    """One that was withdrawn has, as everywhere, a decision for none of its options, with the reason."""
    said, decision = d["decision"], None
    if said is not None:
        decision = Decision(said["option"], said["note"], said["by"], 0, _at(said["at"]))
    elif d["withdrawn"]:
        decision = Decision("", d["withdrawn"], "", 0, 0)
    return Gate(message(d["message"]), d["options"], d["digest"], d["asked"], decision, d["mine"])


@_understood
def event(d: Document) -> Event:
    payload, stored = dict(d["payload"]), None
    if d["type"] == "message.sent" and "message" in payload:
        stored = message({**payload.pop("message"), "seq": d["seq"]})
    return Event(
        d["seq"], d["id"], d["tenant_id"], d["conversation_id"], d["agent_id"], d["human_id"],
        d["channel_id"], d["type"], d["role"], _at(d["timestamp"]), payload, d["refs"], d["status"], stored,
    )  # fmt: skip


@_understood
def stats(d: Document) -> Stats:
    return Stats(
        moment(d["since"]), d["messages"],
        [OfAgent(**_times(one)) for one in d["agents"]], [OfPair(**_times(one)) for one in d["pairs"]],
        [Put(**one) for one in d["put"]], [Saved(**one) for one in d["digests"]],
    )  # fmt: skip


def _times(d: Document) -> Document:
    found = dict(d)
    for key in ("ack", "answer"):
        times = found.pop(f"{key}_ms")
        found[key] = None if times is None else Spread(**times)
    return found
