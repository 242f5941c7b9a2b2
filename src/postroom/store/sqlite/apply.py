"""What each kind of event does to the state, which changes here and in `WriteTx.post`, and nowhere else.

An event carries all that its change needs, so replaying the events of a room rebuilds it exactly:
nothing here reads a clock, draws a random number or asks the outside world.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from postroom.model.ladder import Outcome, State
from postroom.model.message import Event
from postroom.store.sqlite.read import SQL
from postroom.store.sqlite.statement import DONE, OFFERED
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.store.sqlite.write import WriteTx

# Values bound to statements are plain str and int: sqlite3 takes a slow path for enum members.
_UNPROVEN = Outcome.UNPROVEN.value

_OFFER, _ACK = SQL["delivery_offer"], SQL["delivery_ack"]


def _message_sent(tx: "WriteTx", e: Event) -> None:
    assert e.message is not None, "message.sent carries its message"
    tx.post(e.message, e.payload["recipients"])


def _message_redacted(tx: "WriteTx", e: Event) -> None:
    tx.run("message_redact", (tx.tenant, e.refs["seq"], encode(e.payload["hashes"])))
    tx.outdate_index([e.refs["seq"]], e.seq)


# The delivery an event moves, and the event itself, which becomes the latest in its history.
Key = tuple[str, str, int, int, int]


def _put_in_front(tx: "WriteTx", party: str) -> None:
    """What was sent before what waits waits again."""
    tx.stirred.add(party)
    tx.unsettled.add(party)


def _delivery_due(tx: "WriteTx", e: Event, key: Key) -> None:
    tx.run("delivery_release", (*key, e.payload.get("expires_at"), e.payload.get("reason")))
    _put_in_front(tx, e.party)


def _delivery_held(tx: "WriteTx", e: Event, key: Key) -> None:
    tx.run("delivery_rest", (*key, e.payload["reason"], e.payload["due_at"]))
    tx.stirred.add(e.party)  # the marker must not outlast its time
    tx.unsettled.add(e.party)


def _delivery_taken(tx: "WriteTx", e: Event, key: Key) -> None:
    tx.run("delivery_hold", (*key, e.payload.get("claimer"), e.payload["context"]))
    tx.unsettled.add(e.party)


def _delivery_freed(tx: "WriteTx", e: Event, key: Key) -> None:
    tx.run("delivery_free", (*key, e.payload.get("expires_at")))
    _put_in_front(tx, e.party)


def _delivery_offered(tx: "WriteTx", e: Event, key: Key) -> None:
    p, at = e.payload, e.timestamp
    tx.execute(
        _OFFER,
        (*key, p["n"], p["route"], p["context"], p["nonce"], p["claimer"], at, at if p["handed"] else None,
         p["lease_until"]),
    )  # fmt: skip


def _delivery_handed(tx: "WriteTx", e: Event, key: Key) -> None:
    tx.run("delivery_hand", (*key, e.timestamp, e.payload.get("holder")))


def _delivery_seen(tx: "WriteTx", e: Event, key: Key) -> None:
    tx.run("delivery_see", (*key, e.payload["evidence"], e.timestamp, e.payload.get("shown")))


def _delivery_acked(tx: "WriteTx", e: Event, key: Key) -> None:
    tx.execute(_ACK, (*key, e.payload["evidence"], e.timestamp))


def _delivery_returned(tx: "WriteTx", e: Event, key: Key) -> None:
    p = e.payload
    tx.run(
        "delivery_return",
        (*key, p["label"], p["outcome"] == _UNPROVEN, p.get("reason"), p.get("due_at", p.get("expires_at"))),
    )
    _put_in_front(tx, e.party)


def _delivery_labelled(tx: "WriteTx", _: Event, key: Key) -> None:
    tx.run("delivery_label", key)


def _delivery_deferred(tx: "WriteTx", e: Event, key: Key) -> None:
    p = e.payload
    statement = "delivery_defer" if key[2] in (OFFERED, DONE) else "delivery_defer_waiting"
    tx.run(statement, (*key, p["reason"], p["due_at"], p["deferrals"], p["label"]))
    tx.stirred.add(e.party)  # the marker must not outlast its time
    tx.unsettled.add(e.party)


def _delivery_retried(tx: "WriteTx", e: Event, key: Key) -> None:
    tx.run("delivery_retry", (*key, e.payload.get("expires_at")))
    _put_in_front(tx, e.party)


def _exit(state: State) -> Callable[["WriteTx", Event, Key], None]:
    value = state.value

    def apply(tx: "WriteTx", e: Event, key: Key) -> None:
        tx.run("delivery_exit", (*key, value, e.payload.get("reason"), e.timestamp))
        tx.unsettled.add(e.party)

    return apply


def _agent_joined(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    p = e.payload
    tx.run(
        "agent_insert",
        (tx.tenant, e.party, p["project"], p["name"], p["role"], encode(p["capabilities"]), p["description"],
         p["supervisor"], e.timestamp),
    )  # fmt: skip


def _agent_updated(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    p = e.payload
    tx.run(
        "agent_update",
        (tx.tenant, e.party, p["role"], encode(p["capabilities"]), p["description"], p["supervisor"]),
    )


def _agent_manners(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    manners = e.payload["manners"]
    tx.run("agent_manners", (tx.tenant, e.party, encode(manners) if manners else None))


def _agent_declared(tx: "WriteTx", e: Event) -> None:
    tx.set_position(e.payload["as"], str(e.seq))


def _agent_renamed(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    tx.run("agent_rename", (tx.tenant, e.party, e.payload["name"]))


def _agent_left(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    tx.run("agent_leave", (tx.tenant, e.party, e.timestamp))
    tx.run("refusal_delete", (tx.tenant, f"agent:{e.party}"))


def _session_started(tx: "WriteTx", e: Event) -> None:
    p = e.payload
    tx.run(
        "session_insert",
        (tx.tenant, p["id"], e.party, p["runtime"], p["process"], p.get("pane"), p.get("worktree"),
         p.get("branch"), p["epoch"], e.timestamp, encode(p["details"]) if p.get("details") else None),
    )  # fmt: skip


def _session_ended(tx: "WriteTx", e: Event) -> None:
    tx.run("session_end", (tx.tenant, e.payload["id"], e.timestamp))


def _gate_decided(tx: "WriteTx", e: Event) -> None:
    p = e.payload
    tx.run(
        "decision_insert",
        (tx.tenant, e.refs["seq"], p["option"], p["note"], e.party, p["answer"], e.timestamp),
    )


def _agent_api_refused(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()  # what is sent there is held from now on
    p = e.payload
    tx.run(
        "refusal_set",
        (tx.tenant, p["scope"], p["reason"], p["words"], p["tries"], p["since"], p["at"], p["until"],
         p["probe"]),
    )  # fmt: skip


def _agent_api_answered(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    tx.run("refusal_delete", (tx.tenant, e.payload["scope"]))


def _lease_taken(tx: "WriteTx", e: Event) -> None:
    p = e.payload
    tx.run("lease_set", (tx.tenant, e.party, p["fence"], p["holder"], p["context"], e.timestamp))


def _lease_ended(tx: "WriteTx", e: Event) -> None:
    tx.run("lease_clear", (tx.tenant, e.party))


def _topic_subscribed(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    p = e.payload
    tx.run("subscription_insert", (tx.tenant, p["project"], p["topic"], e.party, e.timestamp))


def _topic_unsubscribed(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    tx.run("subscription_delete", (tx.tenant, e.payload["project"], e.payload["topic"], e.party))


def _project_created(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    tx.run("project_insert", (tx.tenant, e.payload["name"], e.payload["root"], e.timestamp))


def _forget(tx: "WriteTx", seqs: list[int], at: int) -> None:
    """The message goes last: the others are found by what its row says."""
    tx.outdate_index(seqs, at)
    for seq in seqs:
        for statement in (
            "watch_forget",
            "deliveries_delete",
            "sent_delete",
            "decision_delete",
            "message_delete",
        ):
            tx.run(statement, (tx.tenant, seq))


def _project_deleted(tx: "WriteTx", e: Event) -> None:
    tx.change_directory()
    _forget(tx, e.payload["messages"], e.seq)
    for what in (
        "subscriptions",
        "declared",
        "watched",
        "deliveries",
        "leases",
        "refusals",
        "transcripts",
        "sessions",
        "agents",
    ):
        tx.run(f"{what}_delete_in_project", (tx.tenant, e.payload["name"]))
    tx.run("project_delete", (tx.tenant, e.payload["name"]))


def _room_pruned(tx: "WriteTx", e: Event) -> None:
    _forget(tx, e.payload["messages"], e.seq)
    if cut := e.payload.get("cut"):
        tx.run("events_prune", (tx.tenant, cut))


def _noted(_tx: "WriteTx", _e: Event) -> None:
    """What is only told: nothing in the room changes by it."""


APPLY: dict[str, Callable[["WriteTx", Event], None]] = {
    "agent.api_answered": _agent_api_answered,
    "agent.api_refused": _agent_api_refused,
    "agent.api_retried": _agent_api_refused,
    "agent.declared": _agent_declared,
    "agent.ended": _noted,
    "agent.interrupted": _noted,
    "agent.joined": _agent_joined,
    "agent.left": _agent_left,
    "agent.manners": _agent_manners,
    "agent.output": _noted,
    "agent.pushed": _noted,
    "agent.renamed": _agent_renamed,
    "agent.route": _noted,
    "agent.started": _noted,
    "agent.updated": _agent_updated,
    "gate.decided": _gate_decided,
    "gate.withdrawn": _gate_decided,  # so that nobody decides it later
    "lease.ended": _lease_ended,
    "lease.taken": _lease_taken,
    "message.redacted": _message_redacted,
    "message.sent": _message_sent,
    "project.created": _project_created,
    "project.deleted": _project_deleted,
    "room.pruned": _room_pruned,
    "room.restored": _noted,
    "session.ended": _session_ended,
    "session.started": _session_started,
    "tool_call": _noted,
    "tool_result": _noted,
    "topic.subscribed": _topic_subscribed,
    "topic.unsubscribed": _topic_unsubscribed,
}

# What happens to one delivery, which `record` has found.
APPLY_TO_DELIVERY: dict[str, Callable[["WriteTx", Event, Key], None]] = {
    "delivery.acked": _delivery_acked,
    "delivery.bounced": _exit(State.BOUNCED),
    "delivery.dead": _exit(State.DEAD),
    "delivery.deferred": _delivery_deferred,
    "delivery.due": _delivery_due,
    "delivery.expired": _exit(State.EXPIRED),
    "delivery.freed": _delivery_freed,
    "delivery.handed": _delivery_handed,
    "delivery.held": _delivery_held,
    "delivery.labelled": _delivery_labelled,
    "delivery.offered": _delivery_offered,
    "delivery.retried": _delivery_retried,
    "delivery.returned": _delivery_returned,
    "delivery.seen": _delivery_seen,
    "delivery.taken": _delivery_taken,
    "delivery.withdrawn": _exit(State.WITHDRAWN),
}
