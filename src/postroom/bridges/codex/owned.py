"""A Codex without a terminal: an app-server that is our child, with one thread of its own.

After a restart the same thread goes on. What its model asks, people decide.
"""

from typing import Any

from postroom.bridges.codex.approval import answer, asked
from postroom.bridges.codex.talk import Talk
from postroom.bridges.codex.thread import Thread
from postroom.bridges.contract import Capabilities, Heard, Launch
from postroom.bridges.process.line import Cut
from postroom.bridges.server.answer import UNANSWERED, Refusal, Silence, Unsent
from postroom.bridges.server.own import Own
from postroom.bridges.server.said import table
from postroom.errors import BridgeError
from postroom.model.message import Json
from postroom.text import encode

_BEGIN = 30.0  # seconds for a thread to begin, or to be read again
_READY, _WRITE = 2.0, 5.0  # seconds for its input to have room, and to take a line
_RESOLVED = "serverRequest/resolved"
_TELLS = ("item/completed", "turn/completed", "error")  # what is worth keeping of all that it says


class Owned(Own):
    """A bridge to such a server."""

    def __init__(self, launch: Launch, name: str, can: Capabilities) -> None:
        self._talk = Talk(self._send, self._told)
        self._asks: dict[str, Json] = {}  # what nobody has answered, by its id
        self._changes: dict[str, Any] = {}  # to files, which it is about to make, by the id of the item
        super().__init__(launch, name, can)
        try:
            self.thread = self._begun(launch)
        except (*UNANSWERED, KeyError) as exc:
            self.close()
            raise BridgeError(
                f"the app-server of {launch.address} does not begin: {exc}", hint=self._last_output()
            ) from exc
        self._conversation = Thread(self._talk, self.thread, queued=False)

    def _begun(self, launch: Launch) -> str:
        """Its thread: the one that it had before, or a new one."""
        self._talk.begin()
        earlier = str(launch.details.get("thread") or "")
        if earlier and self._resumed(earlier):
            return earlier
        return str(self._talk.call("thread/start", {"cwd": launch.cwd}, _BEGIN)["thread"]["id"])

    def _resumed(self, thread: str) -> bool:
        try:
            self._talk.call("thread/resume", {"threadId": thread, "excludeTurns": True}, _BEGIN)
        except Refusal as exc:
            lost = {"postroom": "new_thread", "instead_of": thread, "because": str(exc)}
            self._tape.add(Heard(encode(lost), "event"))
            return False
        return True

    def answer(self, question: str, option: str) -> bool:
        with self._changed:
            said = self._asks.get(question)
        if said is None or self.is_gone:
            return False
        try:
            self._talk.reply(said["id"], answer(said, option))
        except Unsent as exc:
            raise BridgeError(str(exc)) from exc
        except Silence:
            pass  # the rest of it goes first, before anything else does
        with self._changed:
            self._asks.pop(question, None)
        return True

    def receive(self) -> list[Heard]:
        for said in self._unanswerable():
            try:
                self._talk.decline(said["id"], "nobody is there who could answer that")
            except (Unsent, Silence):
                pass
        return super().receive()

    def _unanswerable(self) -> list[Json]:
        """What it asks that is no matter of yes or no."""
        with self._changed:
            found = [number for number, said in self._asks.items() if asked(number, said) is None]
            return [self._asks.pop(number) for number in found]

    # ------------------------------------------------------------------------------ what goes to the child

    def _send(self, line: str) -> None:
        data = line.encode(errors="replace") + b"\n"
        if self._child.objection(_READY if self._pay(_READY) else 0.0) or self._owed:
            raise Unsent("its app-server reads nothing")
        done = self._child.write(data, _WRITE)
        self._owed = data[done:] if done else b""
        if not done:
            raise Unsent("its app-server reads nothing any more")
        if done < len(data):
            raise Silence(f"its app-server read {done} of {len(data)} bytes, and no more")

    # ------------------------------------------------------------------------------- by the child's thread

    def ended(self, code: int) -> None:
        self._talk.end()
        super().ended(code)

    def _meant(self, stream: str, line: Cut) -> tuple[Heard | None, str]:
        said = self._talk.hear(line.text) if stream == "output" and not line.missing else None
        if said is None:
            return super()._meant(stream, line)
        if _is_question(said):
            changes = self._changes.get(str(table(said.get("params")).get("itemId")))
            return Heard(line.text, "event", asks=asked(_number(said), said, changes)), ""
        if said.get("method") == _RESOLVED:
            return self._resolved(said), ""
        if said.get("method") not in _TELLS:
            return None, ""
        return Heard(line.text, "event"), ""

    def _resolved(self, said: Json) -> Heard | None:
        number = str(table(said.get("params")).get("requestId"))
        self._asks.pop(number, None)
        return Heard(asked=number)

    def _told(self, said: Json) -> None:
        self._note_changes(str(said.get("method")), table(table(said.get("params")).get("item")))
        if _is_question(said):
            self._asks[_number(said)] = said
        elif self._conversation is not None:
            self._conversation.moved()

    def _note_changes(self, method: str, item: Json) -> None:
        if item.get("type") != "fileChange":
            return
        if method == "item/completed":
            self._changes.pop(str(item.get("id")), None)
        else:
            self._changes[str(item.get("id"))] = item.get("changes")


def _number(said: Json) -> str:
    return str(said["id"])


def _is_question(said: Json) -> bool:
    return "method" in said and "id" in said
