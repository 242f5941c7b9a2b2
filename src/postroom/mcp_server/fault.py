"""Errors as an agent reads them: what is wrong, and which tool to call next."""

from postroom import errors
from postroom.errors import PostroomError

# The first that fits counts. What a command line would be told is no help to who has only these tools.
_NEXT: tuple[tuple[type[PostroomError], str], ...] = (
    (errors.UnknownRecipient, "Call `agents` to see who is here."),
    (errors.UnknownAgent, "Call `agents` to see who is here."),
    (errors.InvalidPayload, "Give what the type asks for in `payload`."),
    (errors.InvalidBody, "Give a `body`."),
    (errors.UnknownMessage, "Call `inbox` to see what waits for you; an id has 8 digits."),
    (errors.NoAnswer, "Call `agents` to see whom else to ask."),
    (errors.NotAsked, "Leave that decision to those who were asked."),
    (errors.AlreadyDecided, "Go on with what was decided."),
    (errors.StaleClaim, "Call `read` for the next message."),
    (errors.MailboxLeased, "A program of yours takes your mail: it has what you look for."),
    (errors.UnknownType, "Leave `type` out for a note."),
    (errors.RateLimited, "Wait, and put more into one message."),
    (errors.MailboxFull, "Wait until they have read some of it, or ask somebody else."),
    (errors.BroadcastGuard, "Write to those it concerns, by name or by role."),
    (errors.NoIdentity, "Start the server with POSTROOM_AGENT=NAME in its environment, or with a token."),
    (errors.StoreBusy, "Call again."),
)
_FOR_SHELLS = ("postroom ", "--")


def told(exc: PostroomError) -> str:
    hint = exc.hint.partition(" See: postroom ")[0].partition("; see: postroom ")[0]
    if not hint or any(word in hint for word in _FOR_SHELLS):
        hint = next((words for kind, words in _NEXT if isinstance(exc, kind)), "")
    text = str(exc)
    return f"{text}{'' if text.endswith(('.', '!', '?')) else '.'} {hint}".strip()
