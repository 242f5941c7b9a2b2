"""The events of a room."""

from pages.form import NOTE
from postroom.store.sqlite.apply import APPLY, APPLY_TO_DELIVERY


def events() -> str:
    """Every kind of event."""
    return (
        "# Events\n\n"
        + NOTE
        + "Fields of an event, in the store, in `postroom log --json` and in the journal: `id, tenant_id, "
        "conversation_id` (the thread), `agent_id, human_id, channel_id, type, role` (human, agent, tool or "
        "system), `timestamp, payload, refs, status`, and `seq`, the room's one order.\n\nTypes:\n\n"
        + "".join(f"- `{kind}`{_TOLD.get(kind, '')}\n" for kind in sorted({*APPLY, *APPLY_TO_DELIVERY}))
    )


_TOLD = {  # what a payload has, of events that only tell something
    "agent.ended": ": what a bridge reached: `bridge`, `exit_code` or the `signal` that ended it (neither: "
    "nobody knows), `again_in` (seconds, if it is restarted), `reason`, if it cannot be",
    "agent.interrupted": ": `kind`, `by`, `proven`, `words`",
    "agent.output": ": what a child printed: `stream`, `text`",
    "agent.pushed": ": something was put before an agent: `what` (mail, wake, notice, command, answer, "
    "introduction), `route`, `result`, `words`, `messages`; of a command `text` and `by` before, and what "
    "came of it after; of an answer to what it asked `option` (none: nobody allowed it), and the gate "
    "among `messages`",
    "agent.route": ": an agent is reached by another `route` than before; `instead_of` the better one that "
    "does not work, and in `words` why; neither, if it works again",
    "agent.started": ": by `spawn` or `up`, or again: `bridge`, `program`",
    "agent.api_refused": ": the API of its model refused a request, so its mail is held: `scope`, `reason`, "
    "`words`, `tries`, `since`, `at`, `until` (the time of the next attempt), `probe` (its message)",
    "agent.api_retried": ": a message goes out as the next attempt: the same fields, with that message in "
    "`probe`",
    "agent.api_answered": ": its model answered, so the mail goes out again: `scope`, `since`",
    "agent.declared": ": the config declares it, and it has its address: `as`",
    "delivery.deferred": ": its recipient refused the message for now: `words` of the recipient, `due_at` "
    "(when it comes again), `deferrals` (how often it was refused), `label` (it may have been shown)",
    "room.restored": ": a backup was put in the place of what the room held: `after`, the last event of the "
    "backup; the numbers between that and this event were those of events before the restore",
    "gate.withdrawn": ": nobody has decided, and nobody is asked any more: in `note` why",
}
