"""A Codex without a terminal: an app-server that is our child, with one thread of its own.

After a restart the same thread goes on. What its model asks a person is never answered with yes from here.
"""

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
_TELLS = ("item/completed", "turn/completed", "error")  # what is worth keeping of all that it says
_NO = {  # how each kind of question is answered with no
    "item/commandExecution/requestApproval": {"decision": "decline"},
    "item/fileChange/requestApproval": {"decision": "decline"},
    "execCommandApproval": {"decision": "denied"},
    "applyPatchApproval": {"decision": "denied"},
}


class Owned(Own):
    """A bridge to such a server."""

    def __init__(self, launch: Launch, name: str, can: Capabilities) -> None:
        self._talk = Talk(self._send, self._told)
        self._asks: list[Json] = []  # what nobody has answered
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

    def receive(self) -> list[Heard]:
        self._decline()
        return super().receive()

    def _decline(self) -> None:
        """Nobody is there whom it could ask: so the answer is no, or that there is none."""
        with self._changed:
            asks, self._asks = self._asks, []
        for asked in asks:
            no = _NO.get(str(asked["method"]))
            try:
                if no:
                    self._talk.reply(asked["id"], no)
                else:
                    self._talk.decline(asked["id"], "nobody is there to answer")
            except (Unsent, Silence):
                pass  # it has ended, or reads nothing: then it waits

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
        if said.get("method") not in _TELLS and not _is_question(said):
            return None, ""
        return Heard(line.text, "event"), _shown(said)

    def _told(self, said: Json) -> None:
        if _is_question(said):
            self._asks.append(said)
        elif self._conversation is not None:
            self._conversation.moved()


def _is_question(said: Json) -> bool:
    return "method" in said and "id" in said


def _shown(said: Json) -> str:
    item = table(table(said.get("params")).get("item"))
    return str(item.get("text") or "") if item.get("type") == "agentMessage" else ""
