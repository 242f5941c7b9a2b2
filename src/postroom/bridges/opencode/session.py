"""One session of an opencode server, and what its messages tell of a text."""

import secrets
import string
import time

from postroom.bridges.contract import Context, Doing
from postroom.bridges.opencode.http import Http
from postroom.bridges.server.answer import UNANSWERED, Refusal, Silence
from postroom.bridges.server.conversation import Conversation
from postroom.bridges.server.ledger import Fate, Verdict
from postroom.bridges.server.said import rows, table
from postroom.model.message import Json

_STOPPED = "MessageAbortedError"  # by a person
_PAGE = "50"  # messages that are looked through
_LETTERS = string.digits + string.ascii_letters


class Dialogue(Conversation):
    """A conversation of opencode."""

    def __init__(self, http: Http, id: str, *, alone: bool = False) -> None:
        """`alone`: the server has no other conversation, but those of its subagents."""
        super().__init__()
        self._http = http
        self._id = id
        self._alone = alone

    def _doing(self) -> tuple[Doing, str, str]:
        status = self._status()
        for kind in ("permission", "question"):
            asked = [one for one in rows(self._http.get(kind)) if self._alone or self._is_ours(one)]
            if asked:
                about = asked[0].get("permission") or kind
                return Doing.ASKING, f"its server says that it asks: {about}", "approval"
        if status.get("type", "idle") == "idle":
            return Doing.IDLE, "its server says so", ""
        return Doing.PROCESSING, f"its server says so: {status.get('type')}", "busy"

    def _is_ours(self, asked: Json) -> bool:
        return asked.get("sessionID") == self._id

    def _status(self) -> Json:
        """Empty: it is idle."""
        found = self._http.get("session", "status")
        if not isinstance(found, dict):
            raise Silence("its server does not say what its sessions do")
        return table(table(found).get(self._id))

    def _new_number(self) -> str:
        """As opencode makes them, by the time: later ones sort later, and it relies on that. So do we, for
        what proves a text; a clock that was set back must not let it sort before what was said already.
        """
        known = [_time(str(_info(one).get("id"))) for one in self._messages()]
        now = (time.time_ns() // 1_000_000 << 12) & 0xFFFFFFFFFFFF
        return f"msg_{max([now, *known]) + 1:012x}{''.join(secrets.choice(_LETTERS) for _ in range(14))}"

    def _messages(self) -> list[Json]:
        return rows(self._http.get("session", self._id, "message", limit=_PAGE))

    def _send(self, number: str, text: str, *, is_busy: bool) -> str:
        body: Json = {"messageID": number, "parts": [{"type": "text", "text": text}]}
        self._http.post("session", self._id, "prompt_async", body=body)
        return "its server has added it to the turn" if is_busy else "its server has taken it"

    def _judge(self, numbers: list[str]) -> dict[str, Verdict]:
        said = self._messages()
        return {number: self._verdict(said, number) for number in numbers}

    def _verdict(self, said: list[Json], number: str) -> Verdict:
        found = verdict(said, number)
        if found.fate is not Fate.ABSENT or not self._ledger.is_old(number) or self._has(number):
            return found
        return Verdict(Fate.BROKEN, "its server has taken it, and it is not in the session")

    def _has(self, number: str) -> bool:
        try:
            self._http.get("session", self._id, "message", number)
        except Refusal:
            return False
        return True

    def _turn(self) -> str:
        return "" if self._status().get("type", "idle") == "idle" else self._id

    def _stop(self, turn: str) -> None:
        self._http.post("session", turn, "abort", body={})

    def _context(self) -> Context | None:
        said = self._messages()
        if self._turn():
            return None
        compacted = [_info(one).get("id") for one in said if _is_compaction(one)]
        has_turned = any(_info(one).get("role") == "assistant" for one in said)
        return Context(self._id, str(compacted[-1]) if compacted else "", has_turned)

    def _inform(self, text: str) -> str:
        """Its terminal does not show what is marked so. Before 1.0 it would begin a turn with it."""
        version = str(table(self._http.get("session", self._id)).get("version") or "")
        if not version.partition(".")[0].isdecimal() or version.startswith("0."):
            raise Refusal(f"its server is of version {version or 'unknown'}, and not of 1.0 or later")
        part = {"type": "text", "text": text, "synthetic": True}
        body: Json = {"messageID": self._new_number(), "noReply": True, "parts": [part]}
        self._http.post("session", self._id, "message", body=body)
        return "its server has added it to the session"

    def last_words(self, most: int) -> list[str]:
        try:
            said = self._messages()
        except UNANSWERED:
            return []
        return [line for one in said for line in _lines(one)][-most:]


def verdict(said: list[Json], number: str) -> Verdict:
    """Of the text with that id, by the last messages of a session.

    An answer is to the last of the texts that it had before it; so one to a later text had this one, too.
    """
    fate, is_there = Fate.BROKEN, any(_info(one).get("id") == number for one in said)
    broken = ""
    for info in map(_info, said):
        if info.get("role") != "assistant" or str(info.get("parentID") or "") < number:
            continue
        if error := table(info.get("error")):
            broken = f"its turn ended without an answer: {_told(error)}"
            fate = Fate.BROKEN if error.get("name") == _STOPPED else Fate.REFUSED
        elif table(info.get("time")).get("completed"):
            return Verdict(Fate.ANSWERED)
        else:
            return Verdict(Fate.TAKEN)
    if broken:
        return Verdict(fate, broken)
    return Verdict(Fate.TAKEN if is_there else Fate.ABSENT)


def _told(error: Json) -> str:
    words = table(error.get("data")).get("message")
    return f"{error.get('name')}: {words}"[:300] if words else str(error.get("name"))


def _time(number: str) -> int:
    """What an id begins with; 0: it is none of opencode's."""
    digits = number.removeprefix("msg_")[:12]
    try:
        return int(digits, 16)
    except ValueError:
        return 0


def _info(message: Json) -> Json:
    return table(message.get("info"))


def _lines(message: Json) -> list[str]:
    said = "\n".join(str(part.get("text") or "") for part in rows(message.get("parts")) if _is_text(part))
    lead = "> " if _info(message).get("role") == "user" else ""
    return [f"{lead}{line}" for line in said.splitlines()]


def _is_compaction(message: Json) -> bool:
    return any(part.get("type") == "compaction" for part in rows(message.get("parts")))


def _is_text(part: Json) -> bool:
    """What was said by its user or its model, and is shown."""
    return part.get("type") == "text" and not part.get("synthetic")
