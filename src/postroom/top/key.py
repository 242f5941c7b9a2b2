"""The keys of the screen: what each does, when it means something, and what is said where it does not."""

from collections.abc import Callable
from typing import NamedTuple

from postroom.model.message import Json
from postroom.top.doing import doing
from postroom.top.line import called
from postroom.top.view import View


class Place(NamedTuple):
    """Where somebody stands, and what they have chosen there."""

    view: View
    wanted: str  # what the mail is sieved by
    open: str  # the kind of what is looked at closely; empty: nothing is
    need: str  # the kind of what is chosen among what needs somebody; empty: that list has not the keys
    one: Json | None  # the agent or the person that is chosen, or looked at closely


When = Callable[[Place], bool]
Otherwise = Callable[[Place], str]


def _always(_: Place) -> bool:
    return True


def _nothing(_: Place) -> str:
    return ""


class Key(NamedTuple):
    """`otherwise` is said where it means nothing; one without an `action` is the lists' own."""

    key: str
    action: str
    label: str  # at the foot
    help: str  # in the list of keys
    when: When = _always
    otherwise: Otherwise = _nothing
    shown: str = ""  # as people know it, if not by that name


def _choose(what: str) -> Otherwise:
    return lambda _: f"Choose {what} first (⇥)."


def _has_thread(at: Place) -> bool:
    return at.open in ("", "message") and at.one is None


def _has_mail(at: Place) -> bool:
    return at.one is not None


def _may_decide(at: Place) -> bool:
    return bool(at.view.mine) and at.need in ("", "gate")


def _may_answer(at: Place) -> bool:
    return bool(at.view.asks) and at.need in ("", "request")


def _may_retry(at: Place) -> bool:
    return at.need in ("dead", "uncertain")


def _may_stop(at: Place) -> bool:
    return at.one is not None and at.one["kind"] != "human"


def _is_paused(at: Place) -> bool:
    return at.one is not None and doing(at.one).state == "paused"


def _may_leave(at: Place) -> bool:
    return bool(at.open or at.wanted)


def _not_decided(at: Place) -> str:
    return "Choose the question first (⇥)." if at.view.mine else "Nothing waits for a decision of yours."


def _not_answered(at: Place) -> str:
    return "Choose a question to you first (⇥)." if at.view.asks else "Nobody waits for an answer of yours."


def _not_stopped(at: Place) -> str:
    if at.one is None:
        return "Choose an agent first (⇥)."
    return f"{called(at.one['address'], at.view.me['project'])} is a person: there is nothing to stop."


def _not_resumed(at: Place) -> str:
    if at.one is None:
        return "Choose an agent that is paused first (⇥)."
    if at.one["kind"] == "human":
        return _not_stopped(at)
    return f"{called(at.one['address'], at.view.me['project'])} is not paused."


_FIND = "find: words, from:NAME to:NAME with:NAME type:T state:S topic:T project:P"
_LOST = _choose("a letter that was not delivered")

KEYS = (
    Key("tab", "", "", "the next list, the one before", shown="⇥ ⇧⇥"),
    Key("up", "", "", "another line", shown="↑ ↓ j k"),
    Key("enter", "", "", "open it: a message, an agent, a question", shown="⏎"),
    Key("slash", "find", "find", _FIND, shown="/"),
    Key("t", "thread", "thread", "the conversation of a message", _has_thread, _choose("a message")),
    Key("m", "mail_of", "its mail", "the mail of an agent, and no other", _has_mail, _choose("an agent")),
    Key("d", "decide", "decide", "decide what is asked", _may_decide, _not_decided),
    Key("a", "answer", "answer", "answer what you were asked", _may_answer, _not_answered),
    Key("r", "retry", "retry", "try again what was not delivered", _may_retry, _LOST),
    Key("s", "stop", "stop", "stop, pause or cancel an agent", _may_stop, _not_stopped),
    Key("u", "resume", "go on", "let a paused agent go on", _is_paused, _not_resumed),
    Key("escape", "leave", "back", "back", _may_leave, shown="esc"),
    Key("question_mark", "keys", "keys", "this list", shown="?"),
    Key("q", "quit", "quit", "leave"),
)
BY_ACTION = {one.action: one for one in KEYS if one.action}
BY_KEY = {one.key: one for one in KEYS if one.action}
