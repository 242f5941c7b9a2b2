"""Errors as an agent reads them: what is wrong, and what to do next by the tools that it has."""

import re

from postroom import errors
from postroom.errors import PostroomError

_AGAIN = "Call `{tool}` again."
_OTHERS = "Call `agents` to see who is here."
_USER = "Tell your user."
# The first that fits counts. What a command line would be told is no help to who has only these tools.
_NEXT: tuple[tuple[type[PostroomError], str], ...] = (
    (errors.UnknownRecipient, _OTHERS),
    (errors.UnknownAgent, _OTHERS),
    (errors.InvalidAddress, "Give such an address in `to`."),
    (errors.InvalidPayload, "Give what the type asks for in `payload`."),
    (errors.InvalidBody, "Change `body`."),
    (errors.InvalidValue, "Change what you gave to `{tool}`."),
    (errors.UnknownType, "Leave `type` out for a note."),
    (errors.NoIdentity, "Tell your user to start this server with POSTROOM_AGENT=NAME in its environment."),
    (errors.UsageError, "Change what you gave to `{tool}`."),
    (errors.UnknownMessage, "Call `inbox` to see what waits for you; an id has 8 digits."),
    (errors.NotFound, "Call `inbox` to see what waits for you, or `agents` to see who is here."),
    (errors.TimedOut, "Go on, and look for it with `inbox`."),
    (errors.NoAnswer, "Call `agents` to see whom else to ask."),
    (errors.NotAsked, "Leave that to those who were asked, and `ack` it."),
    (errors.AlreadyDecided, "Go on with what was decided, and `ack` it if it still waits for you."),
    (errors.IllegalMove, "Nothing is left to do with it: call `inbox` to see what waits for you."),
    (errors.StaleClaim, "Call `read` for the next message."),
    (errors.MailboxLeased, "A program of yours takes your mail: it has what you look for; `inbox` shows it."),
    (errors.KeyConflict, _AGAIN),
    (
        errors.LoopGuard,
        "Stop answering in this thread: ask a person with `ask_human`, or begin a new one with `send`.",
    ),
    (errors.WaitingInCircle, "Answer what they have asked first, with `reply`."),
    (errors.BroadcastGuard, "Give one whom it concerns in `to`: a name, or a role."),
    (errors.RouteClosed, "Give somebody else in `to`, or ask a person with `ask_human` to pass it on."),
    (errors.RateLimited, "Put more into one `body`."),
    (errors.MailboxFull, "Wait until they have read some of it, or give somebody else in `to`."),
    (errors.UnknownToken, "Tell your user that this server needs another token."),
    (errors.LacksScope, "Tell your user that this server needs another token."),
    (errors.Refused, "Ask somebody else (`agents` tells who is here), or a person with `ask_human`."),
    (errors.StoreBusy, _AGAIN),
    (errors.StoreError, _USER),
    (PostroomError, _USER),
)
_NOBODY = {
    "@up": "Nobody is above you: give a name in `to` (see `agents`), or ask a person with `ask_human`.",
    "@all": "Nobody else is here: tell a person with `notify_human`.",
    "topic:": "Give a name or a role in `to`: `agents` tells who is here.",
}
_PEOPLE = ("ask_human", "notify_human")
_SENTENCE = re.compile(r"(?<=[.?!])\s+|; see: ")
_FOR_OTHERS = ("postroom ", "--", "The setting")


def told(exc: PostroomError, tool: str) -> str:
    """`tool`: which of them could not do what it was asked."""
    hint = " ".join(one for one in _SENTENCE.split(exc.hint) if not any(word in one for word in _FOR_OTHERS))
    parts = [str(exc), hint, "" if "`" in hint else _next(exc, tool)]
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)


def _next(exc: PostroomError, tool: str) -> str:
    if isinstance(exc, errors.UnknownRecipient):
        if tool in _PEOPLE:
            return "Leave `to` out, or ask your user yourself."
        address = str(exc.facts.get("address", ""))
        for beginning, words in _NOBODY.items():
            if address.startswith(beginning):
                return words
    if isinstance(exc, errors.WaitingInCircle) and (ref := exc.facts.get("waiting")):
        return f"Answer that first, with `reply` and `id` {str(ref)[-8:]}."
    return next(words for kind, words in _NEXT if isinstance(exc, kind)).replace("{tool}", tool)
