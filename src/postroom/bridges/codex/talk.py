"""JSON-RPC as the Codex app-server speaks it, without the `jsonrpc` field; whatever carries the lines.

One thread asks, another hears. What was asked has an end: an answer, a refusal, or silence.
"""

import json
import threading
from collections.abc import Callable
from typing import Any

from postroom.bridges.server.answer import Refusal, Silence, Unsent
from postroom.bridges.server.said import table
from postroom.model.message import Json
from postroom.text import encode

_INTERNAL = -32603  # an error that came on the way: what was asked for may be done
_INITIALIZE = 15.0  # seconds for a server to begin
_CLIENT = {"name": "postroom", "title": "Postroom", "version": "1"}
_NOT_WANTED = (  # what is said again as a whole, when it is complete
    "item/agentMessage/delta", "item/plan/delta", "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta", "item/commandExecution/outputDelta", "item/fileChange/outputDelta",
    "command/exec/outputDelta", "process/outputDelta",
)  # fmt: skip


class Talk:
    """One connection. `hear` is called with every line that comes, by one thread."""

    def __init__(self, send: Callable[[str], None], told: Callable[[Json], None]) -> None:
        """`send` raises `Unsent` or `Silence`; `told` gets what nobody has asked for, by the same thread."""
        self._send = send
        self._told = told
        self._changed = threading.Condition()
        self._count = 0
        self._awaited: set[int] = set()
        self._answers: dict[int, Json] = {}
        self._is_over = False

    @property
    def is_over(self) -> bool:
        return self._is_over

    def begin(self, patience: float = _INITIALIZE) -> Json:
        """Introduce ourselves; what the server says of itself."""
        able = {
            "experimentalApi": True, "requestAttestation": False, "optOutNotificationMethods": _NOT_WANTED,
        }  # fmt: skip
        said = self.call("initialize", {"clientInfo": _CLIENT, "capabilities": able}, patience)
        self._send(encode({"method": "initialized"}))
        return said

    def call(self, method: str, params: Json, patience: float) -> Json:
        """Ask for something; raises `Refusal`, `Unsent` or `Silence`."""
        with self._changed:
            if self._is_over:
                raise Unsent("its app-server has closed the connection")
            self._count += 1
            number = self._count
            self._awaited.add(number)
        try:
            self._send(encode({"id": number, "method": method, "params": params}))
            return self._answer(number, method, patience)
        finally:
            with self._changed:
                self._awaited.discard(number)

    def _answer(self, number: int, method: str, patience: float) -> Json:
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers or self._is_over, patience)
            said = self._answers.pop(number, None)
        if said is None:
            raise Silence(f"its app-server did not answer to {method} within {patience:g} s")
        if "error" in said:
            error = said["error"]
            raise (Silence if table(error).get("code") == _INTERNAL else Refusal)(_words(error))
        return table(said.get("result"))

    def reply(self, number: Any, result: Json) -> None:
        """Answer what the server has asked."""
        self._send(encode({"id": number, "result": result}))

    def decline(self, number: Any, words: str) -> None:
        """Say that what the server has asked cannot be answered here."""
        self._send(encode({"id": number, "error": {"code": -32601, "message": words}}))

    # ------------------------------------------------------------------------------- by whoever hears it

    def hear(self, line: str) -> Json | None:
        """What a line says; None: nothing that this protocol knows."""
        said = _parsed(line)
        if said is None:
            return None
        number = said.get("id")
        if "method" in said:
            self._told(said)
        elif isinstance(number, int):
            with self._changed:
                if number in self._awaited:
                    self._answers[number] = said
                    self._changed.notify_all()
        return said

    def end(self) -> None:
        """Nothing will be heard any more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


def _parsed(line: str) -> Json | None:
    if not line.startswith("{"):
        return None
    try:
        return table(json.loads(line)) or None
    except (ValueError, RecursionError):
        return None


def _words(error: Any) -> str:
    return str(table(error).get("message") or error)
