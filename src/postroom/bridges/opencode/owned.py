"""An opencode without a terminal: a server that is our child, with one session of its own.

Only we know its password. After a restart the same session goes on.
"""

import re
import secrets
import time

from postroom.bridges.contract import Capabilities, Heard, Launch, Option, Question
from postroom.bridges.opencode.http import Http, Site, Stream
from postroom.bridges.opencode.session import Dialogue
from postroom.bridges.process.line import Cut
from postroom.bridges.server.answer import UNANSWERED, Refusal, Silence, Unsent
from postroom.bridges.server.own import Own
from postroom.bridges.server.question import question
from postroom.bridges.server.said import rows, table
from postroom.errors import BridgeError
from postroom.model.message import Json
from postroom.text import encode

_BEGIN = 60.0  # seconds for it to listen
_AGAIN = 5.0  # seconds before what it tells is followed again
_ASKED, _WONDERS = "permission.asked", "question.asked"
_LISTENS = re.compile(r"listening on http://([\w.\[\]:]+):(\d+)")
_REPLIES = ("once", "always", "reject")
_ONCE = Option("once", "yes", "allow_once")
_ALWAYS = Option("always", "yes, and from now on", "allow_always")
_NEVER = Option("reject", "no", "reject_once")
_IDS = ("id", "sessionID", "tool")  # of what it asks, what tells people nothing
_PASSWORD, _USER = "OPENCODE_SERVER_PASSWORD", "OPENCODE_SERVER_USERNAME"


class Owned(Own):
    """A bridge to such a server."""

    def __init__(self, launch: Launch, name: str, can: Capabilities) -> None:
        self.session = ""
        self._site: Site | None = None
        self._http: Http | None = None
        self._stream: Stream | None = None
        self._followed_at = 0.0
        self._is_followed = False
        self._questions: set[str] = set()  # those that were passed on
        self._wonders: set[str] = set()  # those that nobody can answer
        self._password = secrets.token_urlsafe(24)
        env = {key: value for key, value in launch.env.items() if key != _USER}
        super().__init__(launch._replace(env=env | {_PASSWORD: self._password}), name, can)
        try:
            self._begin(launch)
        except (*UNANSWERED, KeyError, TypeError, BridgeError) as exc:
            self.close()
            raise BridgeError(
                f"the server of {launch.address} does not begin: {exc}", hint=self._last_output()
            ) from exc

    def _begin(self, launch: Launch) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._site is not None or self.is_gone, _BEGIN)
            if self._site is None:
                raise BridgeError("it does not say where it listens")
            self._http = http = Http(self._site)
        self.session = self._session(http, launch)
        self._conversation = Dialogue(http, self.session, alone=True)
        self._follow(http)

    def _follow(self, http: Http) -> None:
        """Hear what it tells from now on, and what it asks already."""
        self._followed_at, self._is_followed = time.monotonic(), True
        try:
            self._stream = http.follow(self._told, self._left)
        except BridgeError:
            self._is_followed = False
            raise
        for kind in (_ASKED, _WONDERS):
            for asked in rows(http.get(kind.partition(".")[0])):
                self._told({"type": kind, "properties": asked})

    def receive(self) -> list[Heard]:
        if self._http and not self._is_followed and time.monotonic() - self._followed_at > _AGAIN:
            try:
                self._follow(self._http)
            except (*UNANSWERED, BridgeError):
                self._is_followed = False  # it has ended, or will answer later
        self._decline()
        return super().receive()

    def _decline(self) -> None:
        """What it asks that is no matter of yes or no: nobody is there who could answer that."""
        http = self._http
        if http is None or self.is_gone:
            return
        for number in [*self._wonders]:
            try:
                http.post(_WONDERS.partition(".")[0], number, "reject", body={})
            except Refusal:
                pass  # it is not asked any more
            except (Unsent, Silence):
                continue  # later
            self._wonders.discard(number)

    def _session(self, http: Http, launch: Launch) -> str:
        """The one that it had before, or a new one."""
        earlier = str(launch.details.get("conversation") or "")
        if earlier:
            try:
                return str(http.get("session", earlier)["id"])
            except Refusal as exc:
                lost = {"postroom": "new_session", "instead_of": earlier, "because": str(exc)}
                self._tape.add(Heard(encode(lost), "event"))
        return str(http.post("session", body={"title": launch.address})["id"])

    def answer(self, question: str, option: str) -> bool:
        if self._http is None or self.is_gone:
            return False
        reply = option if option in _REPLIES else _REPLIES[-1]
        try:
            self._http.post("permission", question, "reply", body={"reply": reply})
        except Refusal:
            return False
        except (Unsent, Silence) as exc:
            raise BridgeError(str(exc)) from exc
        return True

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        super().close()

    # ------------------------------------------------------------- by the threads of the child and the stream

    def _meant(self, stream: str, line: Cut) -> tuple[Heard | None, str]:
        found = _LISTENS.search(line.text) if self._site is None else None
        if found:
            self._site = Site(int(found[2]), found[1].strip("[]"), self._password)
        return super()._meant(stream, line)

    def _told(self, said: Json) -> None:
        about = table(said.get("properties"))
        kind = str(said.get("type"))
        is_ours = about.get("sessionID") == self.session or kind.startswith(("permission.", "question."))
        if self._conversation is None or not is_ours:
            return
        if heard := self._heard(kind, about):
            self._tape.add(heard)
        self._conversation.moved()
        self._ring()

    def _heard(self, kind: str, about: Json) -> Heard | None:
        part = table(about.get("part"))
        match kind:
            case "permission.asked" if (number := str(about.get("id"))) not in self._questions:
                self._questions.add(number)
                return Heard(encode({"type": kind, **about}), "event", asks=_asked(about))
            case "question.asked":
                self._wonders.add(str(about.get("id")))
                return Heard(encode({"type": kind, **about}), "event")
            case "permission.replied":
                return Heard(asked=str(about.get("requestID")))
            case "message.part.updated" if part.get("type") == "text" and table(part.get("time")).get("end"):
                return Heard(encode({"type": "text", "text": part.get("text")}), "event")
            case _:
                return None

    def _left(self) -> None:
        self._is_followed = False
        self._ring()


def _asked(about: Json) -> Question:
    title = f"{about.get('permission')}: {about.get('patterns')}"
    shown = {name: value for name, value in about.items() if name not in _IDS and value}
    always = f"{_ALWAYS.name}: {', '.join(map(str, about.get('always') or ['it does not say what']))}"
    return question(str(about.get("id")), title, shown, (_ONCE, _ALWAYS._replace(name=always), _NEVER))
