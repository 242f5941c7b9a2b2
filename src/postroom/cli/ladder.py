"""The receipt ladder as a picture: what is reached, when, on what evidence, and every attempt."""

from typing import TYPE_CHECKING

from postroom.cli.letter import gist, is_doubtful
from postroom.cli.moment import clock, long
from postroom.cli.output import one_line
from postroom.cli.route import told
from postroom.model.ladder import RUNGS, Cause, Outcome, Priority, Reason, State, ended

if TYPE_CHECKING:
    from postroom.cli.output import Output
    from postroom.model.message import Attempt, Deferral, Delivery, Message, Receipts

_EVIDENCE = {
    "transcript": "its transcript has it, and an answer after it",
    "runtime_ack": "its runtime ended a turn with it",
    "boundary": "a later event of the same session",
    "terminal": "its composer held it and was cleared",
    "agent": "the agent's own act",
    "inbox": "it was taken out of an inbox of its runtime, unverified",
    "imported": "files of another tool say so",
}
_OUTCOMES = {
    Outcome.OPEN: ("in hand now", "yellow"),
    Outcome.PROVEN: ("proven", "green"),
    Outcome.LOST: ("never handed over", "red"),
    Outcome.UNPROVEN: ("unproven", "red"),
    Outcome.UNCERTAIN: ("uncertain", "yellow"),
    Outcome.REFUSED: ("refused", "red"),
}
_CAUSES = {
    Cause.GONE: "its process ended with the message in hand",
    Cause.LAPSED: "its process did not hand it over in time",
    Cause.CONTEXT: "its session ended, or began anew",
    Cause.LET_GO: "its program stopped listening with the message in hand",
    Cause.LEFT: "the agent left with the message in hand",
    Cause.API_ERROR: "the API refused the request, and no model answered it",
}


def picture(receipts: "Receipts", out: "Output") -> str:
    """A message and the ladder of each of its deliveries."""
    parts = [_head(receipts.message, out)]
    for delivery in receipts.deliveries:
        attempts = [a for a in receipts.attempts if a.recipient_id == delivery.recipient_id]
        parts.append(_delivery(delivery, attempts, receipts.deferral(delivery.recipient_id), out))
        if cut := next((a.missing for a in reversed(attempts) if a.missing), 0):
            parts[-1] += " " * 10 + out.fold(_cut(receipts.message, cut), 12) + "\n"
    return "\n".join(parts)


def _head(message: "Message", out: "Output") -> str:
    who = f"{out.paint(one_line(message.sender), 'bold')} → {out.paint(one_line(message.to), 'bold')}"
    facts = [message.type]
    if is_doubtful(message):
        facts.append(message.verified)
    if message.priority is not Priority.NORMAL:
        facts.append(message.priority.name.lower())
    if message.requires_ack:
        facts.append("asks for an ack")
    if message.expires_at is not None:
        facts.append(f"expires {clock(message.expires_at)}")
    first = out.lay((out.paint(message.handle, "cyan"), who, out.paint(" · ".join(facts), "dim")), 10)
    return f"{first}\n          {one_line(gist(message, 66))}\n"


def _delivery(
    delivery: "Delivery", attempts: "list[Attempt]", deferral: "Deferral | None", out: "Output"
) -> str:
    names, times = rungs(delivery, out)
    indent = " " * 10
    lines = [
        one_line(delivery.recipient) if len(delivery.recipient) > 8 else "",
        indent + names,
        indent + times,
    ]
    if not lines[0]:
        lines[:2] = [out.paint(delivery.recipient.ljust(10), "bold") + names]
    lines += [indent + out.fold(line, 12) for line in _why(delivery, attempts)]
    if deferral is not None and not ended(delivery.state):
        refused = f"refused {deferral.n} of {deferral.limit}: {one_line(deferral.words)}"
        lines.append(indent + out.fold(refused, 12))
    lines += [indent + _attempt(attempt, out) for attempt in attempts]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def rungs(delivery: "Delivery", out: "Output") -> tuple[str, str]:
    """Two lines: the rungs, and under each the time it was reached."""
    steps = _steps(delivery)
    wide = max(9, *(len(clock(at)) for _, at, _ in steps))
    names = times = ""
    for n, (state, at, mark) in enumerate(steps):
        style = {"●": "green", "✗": "red"}.get(mark, "dim")
        tail = "" if n == len(steps) - 1 else " " + "─" * (wide - len(state) + 2) + " "
        names += out.paint(f"{mark} {state}", style) + out.paint(tail, "dim")
        times += "  " + clock(at).ljust(wide + 4)
    return names, out.paint(times.rstrip(), "dim")


def _steps(delivery: "Delivery") -> list[tuple[str, int | None, str]]:
    """(rung, when, mark) from stored up; an exit takes the place of the rungs that will not come."""
    at = {
        State.STORED: delivery.stored_at,
        State.OFFERED: delivery.offered_at,
        State.SEEN: delivery.seen_at,
        State.ACKED: delivery.acked_at,
    }
    state = delivery.state
    if state in RUNGS:
        top = RUNGS.index(state)
        return [
            (str(rung), at[rung] if n <= top else None, "●" if n <= top and at[rung] is not None else "○")
            for n, rung in enumerate(RUNGS)
        ]
    climbed = [(str(rung), at[rung], "●") for rung in RUNGS if at[rung] is not None]
    return [*climbed, (str(state), delivery.ended_at, "✗")]


_HELD = {
    Reason.MUTED.value: "its recipient is muted",
    Reason.PAUSED.value: "its recipient is paused: postroom resume",
    Reason.QUIET_HOURS.value: "its recipient has quiet hours",
    Reason.DIGEST.value: "it will be offered with others",
    Reason.RATE_LIMITED.value: "its recipient gets many",
    Reason.API_ERROR.value: "the recipient's model API returns errors; next attempt at",
}


_WAITS = {
    Reason.BUSY.value: "its agent is at work, and gets it after a tool or at the end of the turn",
    Reason.APPROVAL.value: "its agent waits for a person's permission",
    Reason.OFFLINE.value: "nothing of its agent runs",
    Reason.WAKING.value: "its agent is idle, and being woken",
    Reason.LEFT_TEXT.value: "in its agent's terminal an earlier text of ours stands, and was not sent off:"
    " postroom attach NAME",
    Reason.DRAFT.value: "in its agent's terminal somebody has written something and not sent it",
    Reason.TYPING.value: "somebody is typing in its agent's terminal",
    Reason.COPY_MODE.value: "its agent's terminal is scrolled back (copy mode)",
    Reason.SYNCHRONISED.value: "its agent's pane is synchronised with others",
    Reason.BACKGROUND.value: "another program has its agent's terminal",
    Reason.TOO_LONG.value: "its agent's terminal is too small to show it: make it larger",
    Reason.UNKNOWN_SCREEN.value: "its agent's screen shows nothing that we know: postroom screen NAME",
    Reason.UNACKNOWLEDGED.value: "its connections ended before they acknowledged it",
    Reason.API_ERROR.value: "the API refused the request that had it; this is the next attempt",
    Reason.STOP_CAP.value: "its agent has gone on for mail three times; now a person's word, or ten minutes",
}


def _cut(message: "Message", missing: int) -> str:
    """What an agent was not shown of what it was shown."""
    size = len(message.body)
    return f"in part: {missing:,} of {size:,} characters were left out, and it was told how to read them"


def _uncertain(delivery: "Delivery", attempts: "list[Attempt]") -> list[str]:
    """How often nobody could tell what became of it, and what a person may do about that."""
    from postroom.cli.kept import typed

    tried = [one for one in attempts if one.outcome is Outcome.UNCERTAIN]
    is_typed = bool(tried) and typed(tried[-1].route) == "typed"
    often = {0: "", 1: " once", 2: " twice"}.get(len(tried), f" {len(tried)} times")
    what = f"it was {'typed' if is_typed else 'handed over'}{often}"
    look = f"look: postroom screen {one_line(delivery.recipient)}; " if is_typed else ""
    again = f"{'have it typed' if is_typed else 'try it'} again: postroom dead retry {delivery.message[-8:]}"
    return [f"waits: {what}, and nobody can tell what became of it", f"{look}{again}"]


def _why(delivery: "Delivery", attempts: "list[Attempt]") -> list[str]:
    lines: list[str] = []
    if delivery.reason and not (delivery.state in RUNGS and delivery.state is not State.STORED):
        if delivery.reason == Reason.IN_HAND:
            lines.append("in hand of the program that listens; seen when it asks for the next one")
        elif delivery.reason == Reason.TAKEN:
            lines.append("held: another of those to whom it was sent has taken it")
        elif delivery.reason == Reason.UNCERTAIN and not ended(delivery.state):
            lines += _uncertain(delivery, attempts)
        elif delivery.held:
            joint = " " if delivery.reason == Reason.API_ERROR else ", due "
            due = "" if delivery.due_at is None else f"{joint}{clock(delivery.due_at)}"
            lines.append(f"waits: {_HELD.get(delivery.reason, delivery.reason)}{due}")
        else:
            why = delivery.reason if ended(delivery.state) else _WAITS.get(delivery.reason, delivery.reason)
            again = (
                f"; pushed again at {clock(delivery.due_at)}"
                if delivery.is_paused and delivery.due_at
                else ""
            )
            lines.append(("because: " if ended(delivery.state) else "waits: ") + one_line(why) + again)
    if delivery.evidence is not None:
        lines.append(f"evidence: {_EVIDENCE[delivery.evidence.value]} ({delivery.evidence})")
    if delivery.shown_before:
        lines.append("an earlier attempt may have shown it already")
    return lines


def _attempt(attempt: "Attempt", out: "Output") -> str:
    what, style = _OUTCOMES[attempt.outcome]
    pid = attempt.claimer.split(".")[0]
    took = (
        "" if attempt.ended_at is None else f" after {long((attempt.ended_at - attempt.claimed_at) / 1000)}"
    )
    why = [f"as {_cause(attempt, attempt.cause)}"] if attempt.cause else []
    start = f"attempt {attempt.n}: {clock(attempt.claimed_at)} by {told(attempt.route)}"
    return out.lay((start, f"process {pid}", out.paint(what, style) + took, *why), 12, ", ")


def _cause(attempt: "Attempt", cause: Cause) -> str:
    if cause is Cause.GONE and attempt.handed_at is None:
        return "its process ended before it handed the message over"
    return _CAUSES[cause]
