"""The room's words, explained as the page explains them."""

from postroom.model.ladder import Reason

EVIDENCE = {
    "transcript": "its transcript has it, and an answer after it",
    "runtime_ack": "its runtime ended a turn with it",
    "boundary": "a later event of the same session",
    "terminal": "its composer held it and was cleared",
    "agent": "its own act",
    "inbox": "it was taken out of an inbox of its runtime; nothing says more",
    "imported": "files of another tool say so",
}

# Why something waits: a few words for a line.
WAITS = {
    Reason.BUSY: "at work",
    Reason.APPROVAL: "needs a person",
    Reason.OFFLINE: "not running",
    Reason.WAKING: "being woken",
    Reason.DRAFT: "draft in its terminal",
    Reason.LEFT_TEXT: "behind a text of ours",
    Reason.TYPING: "somebody types there",
    Reason.COPY_MODE: "terminal scrolled back",
    Reason.SYNCHRONISED: "pane synchronised",
    Reason.BACKGROUND: "other program in front",
    Reason.TOO_LONG: "terminal too small",
    Reason.UNKNOWN_SCREEN: "screen not understood",
    Reason.UNCERTAIN: "uncertain",
    Reason.UNPROVEN: "not proven yet",
    Reason.UNACKNOWLEDGED: "not acknowledged",
    Reason.MUTED: "muted",
    Reason.PAUSED: "paused",
    Reason.QUIET_HOURS: "quiet hours",
    Reason.DIGEST: "for a digest",
    Reason.DEFERRED: "comes again",
    Reason.RATE_LIMITED: "gets many",
    Reason.API_ERROR: "refused by its API",
    Reason.STOP_CAP: "enough in a row",
    Reason.SCHEDULED: "scheduled",
    Reason.TAKEN: "taken by another",
    Reason.IN_HAND: "in hand",
}

# Those that pass by themselves.
PASSING = frozenset(
    (Reason.BUSY, Reason.WAKING, Reason.SCHEDULED, Reason.DIGEST, Reason.RATE_LIMITED, Reason.TAKEN,
     Reason.IN_HAND, Reason.UNPROVEN, Reason.UNACKNOWLEDGED, Reason.DEFERRED, Reason.API_ERROR)
)  # fmt: skip

# What stopping means: where a bridge has a way to do it, and where an agent can only be told.
STOPS = {
    "stop": "Ends what it does now. It may go on when new mail comes.",
    "pause": "Stops it, and holds its mail, urgent or not, until it is resumed.",
    "cancel": "Stops it, and sends what it was asked and has not answered back to who asked.",
}
TELLS = {
    "stop": "Sends it an urgent message. It goes on until it has read that.",
    "pause": "Holds its mail, urgent or not, until it is resumed, and tells it to stop.",
    "cancel": "Sends what it was asked and has not answered back to who asked, and tells it to stop.",
}
# Why it may come to nothing.
HINDERS = {
    "unreached": "It can only be told: no bridge reaches it.",
    "unable": "It can only be told: its bridge has no way to stop it.",
    "dialog": "Nothing will be pressed: its screen shows a dialog, and a key would answer that.",
    "unknown": "Nothing will be pressed: its screen is not known.",
}

ROUTES = {
    "api": "a program", "ask": "its own question", "cli": "the command line", "acp": "ACP",
    "codex": "its app-server", "opencode": "its server", "tmux": "its terminal", "pty": "its terminal",
    "files": "its file mailbox", "listen": "its own program", "websocket": "its connection", "http": "HTTP",
    "import": "an import", "none": "its own act",
}  # fmt: skip

HAPPENED = {
    "message.sent": "stored",
    "message.redacted": "redacted",
    "delivery.offered": "offered",
    "delivery.handed": "handed over",
    "delivery.seen": "seen",
    "delivery.acked": "acknowledged",
    "delivery.returned": "back in the queue",
    "delivery.bounced": "bounced",
    "delivery.expired": "expired",
    "delivery.withdrawn": "withdrawn",
    "delivery.dead": "given up",
    "delivery.retried": "to be tried again",
    "delivery.held": "held back",
    "delivery.deferred": "refused for now",
    "delivery.due": "due",
    "delivery.freed": "free for another",
    "delivery.taken": "taken",
    "delivery.labelled": "labelled: may have been shown before",
    "gate.decided": "decided",
    "gate.withdrawn": "question withdrawn",
}


def waits(reason: str) -> str:
    return WAITS.get(Reason(reason), reason) if reason in WAITS else reason.replace("_", " ")


def route(name: str | None) -> str:
    if not name:
        return ""
    return f"its hook at {name[5:]}" if name.startswith("hook:") else ROUTES.get(name, name)
