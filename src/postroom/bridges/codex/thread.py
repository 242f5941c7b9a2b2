"""One thread of an app-server, and what its turns tell of a text."""

import time
import uuid

from postroom.bridges.codex.talk import Talk
from postroom.bridges.contract import Context, Doing
from postroom.bridges.server.answer import UNANSWERED, Refusal, Silence, Unsent
from postroom.bridges.server.conversation import Conversation
from postroom.bridges.server.ledger import Fate, Verdict
from postroom.bridges.server.said import rows, table
from postroom.model.message import Json

_ASK = 5.0  # seconds for one answer
_PAGE = 20  # turns that are looked through
_SURE = 1.0  # seconds for which a turn must be told as broken: one that has just begun is, for a moment
_COMPACTED = "contextCompaction"
_NOT_MADE = ("userMessage", "hookPrompt", _COMPACTED)  # items that no model made
_NEW = "is not materialized yet"  # a thread in which nothing was said


class Thread(Conversation):
    """A conversation of Codex."""

    def __init__(self, talk: Talk, id: str, *, queued: bool) -> None:
        """`queued`: a terminal shows it, so that a text waits in its queue for the end of a turn."""
        super().__init__()
        self.talk = talk
        self.id = id
        self._queued = queued
        self._broken: dict[str, float] = {}  # texts whose turns seem to have ended so, and since when

    def _doing(self) -> tuple[Doing, str, str]:
        status = table(table(self._ask("thread/read", {}).get("thread")).get("status"))
        match status.get("type"), status.get("activeFlags"):
            case "active", [first, *_]:
                return Doing.ASKING, f"its app-server says that it waits: {first}", "approval"
            case "active", _:
                return Doing.PROCESSING, "its app-server says that it is in a turn", "busy"
            case "notLoaded", _:
                return Doing.UNKNOWN, "its app-server has closed the thread", "offline"
            case ("idle" | "systemError") as known, _:
                return Doing.IDLE, f"its app-server says so: {known}", ""
            case other, _:
                return Doing.UNKNOWN, f"its app-server says what we do not know: {other}"[:100], "offline"

    def _new_number(self) -> str:
        return str(uuid.uuid4())

    def _send(self, number: str, text: str, *, is_busy: bool) -> str:
        where = {"clientUserMessageId": number, "input": [{"type": "text", "text": text}]}
        if is_busy:
            self._steer(where)
            return "its app-server has added it to the turn"
        if self._queued:
            self._ask("thread/queue/add", where)
            return "its app-server has queued it"
        self._ask("turn/start", where)
        return "its app-server has begun a turn with it"

    def _steer(self, where: Json) -> None:
        """Into the turn that it is in; the next one may have begun since it was asked which that is."""
        turn = self._steered()
        try:
            self._ask("turn/steer", {"expectedTurnId": turn, **where})
        except Refusal:
            if (now := self._steered()) == turn:
                raise  # it takes nothing: a review, or a compaction
            self._ask("turn/steer", {"expectedTurnId": now, **where})

    def _steered(self) -> str:
        """The turn that is to be steered. Of the text nothing was sent yet, whatever goes wrong here."""
        try:
            turn = self._turn()
        except Silence as exc:
            raise Unsent(str(exc)) from None
        if not turn:
            raise Refusal("its turn has just ended")
        return turn

    def _judge(self, numbers: list[str]) -> dict[str, Verdict]:
        turns = self._turns(_PAGE, "full")
        return {number: self._verdict(turns, number) for number in numbers}

    def _verdict(self, turns: list[Json], number: str) -> Verdict:
        found = verdict(turns, number)
        if found.fate in (Fate.BROKEN, Fate.REFUSED):
            since = self._broken.setdefault(number, time.monotonic())
            return found if time.monotonic() - since >= _SURE else Verdict(Fate.TAKEN)
        self._broken.pop(number, None)
        if found.fate is not Fate.ABSENT or not self._ledger.is_old(number) or self._has(number):
            return found
        return Verdict(Fate.BROKEN, "it is in none of its turns, and not in its queue")

    def _has(self, number: str) -> bool:
        """What leaves the queue is in a turn by then, so it is looked for in this order."""
        return self._is_queued(number) or verdict(self._turns(_PAGE, "full"), number).fate is not Fate.ABSENT

    def _is_queued(self, number: str) -> bool:
        waits = rows(self._ask("thread/queue/list", {}).get("data")) if self._queued else []
        return any(one.get("clientUserMessageId") == number for one in waits)

    def _turn(self) -> str:
        for turn in self._turns(1, "notLoaded"):
            if turn.get("status") == "inProgress":
                return str(turn["id"])
        return ""

    def _stop(self, turn: str) -> None:
        self._ask("turn/interrupt", {"turnId": turn})

    def _context(self) -> Context | None:
        doing, _, _ = self._doing()
        if doing is not Doing.IDLE:
            return None
        turns = self._turns(_PAGE, "full")
        items = [item for turn in turns for item in rows(turn.get("items"))]
        compacted = [str(item.get("id")) for item in items if item.get("type") == _COMPACTED]
        return Context(self.id, compacted[0] if compacted else "", bool(turns))

    def _inform(self, text: str) -> str:
        """As a developer's words, as those of its hooks are: they are none of its user's. A compaction drops
        them, which its turns tell.
        """
        item = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}
        self._ask("thread/inject_items", {"items": [item]})
        return "its app-server has added it to the thread"

    def last_words(self, most: int) -> list[str]:
        try:
            turns = self._turns(_PAGE, "full")
        except UNANSWERED:
            return []
        items = [item for turn in reversed(turns) for item in rows(turn.get("items"))]
        return [line for item in items for line in _lines(item)][-most:]

    def _turns(self, most: int, view: str) -> list[Json]:
        """The newest first. Before the first one, its server has none to list, and says so by an error."""
        try:
            found = self._ask(
                "thread/turns/list", {"limit": most, "itemsView": view, "sortDirection": "desc"}
            )
        except Refusal as exc:
            if _NEW not in str(exc):
                raise
            return []
        return rows(found.get("data"))

    def _ask(self, method: str, params: Json) -> Json:
        return self.talk.call(method, {"threadId": self.id, **params}, _ASK)


def verdict(turns: list[Json], number: str) -> Verdict:
    """Of the text with that client id; `turns` are the last ones of its thread, the newest first."""
    found: Json | None = None
    has_acted = False
    for turn in reversed(turns):
        for item in rows(turn.get("items")):
            if item.get("type") == "userMessage" and item.get("clientId") == number:
                found = turn
            elif found is not None and item.get("type") == "agentMessage":
                return Verdict(Fate.ANSWERED)
            elif found is not None and item.get("type") not in _NOT_MADE:
                has_acted = True
    return Verdict(Fate.ABSENT) if found is None else _ended(found, has_acted=has_acted)


def _ended(turn: Json, *, has_acted: bool) -> Verdict:
    """How the turn of a text ended; `has_acted`: whether a model has made something since, if no words."""
    match turn.get("status"):
        case "completed" | "failed" if has_acted:
            return Verdict(Fate.ANSWERED)
        case "completed":
            return Verdict(Fate.REFUSED, "its turn ended, and no model had answered")
        case "interrupted":
            return Verdict(Fate.BROKEN, "its turn was interrupted before it answered")
        case "failed":
            error = table(turn.get("error")).get("message") or "no reason was given"
            return Verdict(Fate.REFUSED, f"its turn failed: {error}"[:300])
        case _:
            return Verdict(Fate.TAKEN)


def _lines(item: Json) -> list[str]:
    match item.get("type"):
        case "userMessage":
            said = "\n".join(str(part.get("text") or "") for part in rows(item.get("content")))
            return [f"> {line}" for line in said.splitlines()]
        case "agentMessage":
            return str(item.get("text") or "").splitlines()
        case "commandExecution":
            return [f"$ {item.get('command')}"]
        case _:
            return []
