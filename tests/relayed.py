"""A client of the relay, as a program is one: the `websockets` library, and frames."""

import base64
import json
import threading
import time
from concurrent.futures import Future
from itertools import count
from types import TracebackType
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect, unix_connect

from postroom import errors
from postroom.room.carriage import Carriage
from tests.served import BOUND, Served


class Link:
    """One WebSocket; frames that are not asked for are kept until they are."""

    def __init__(self, opening: Any) -> None:
        self._opening = opening
        self.socket = opening.__enter__()
        self.kept: list[dict[str, Any]] = []
        self._number = 0

    def say(self, **frame: Any) -> None:
        self.socket.send(json.dumps(frame))

    def raw(self) -> dict[str, Any]:
        return json.loads(self.socket.recv(timeout=BOUND))

    def hear(self, kind: str) -> dict[str, Any]:
        """The next frame of a type."""
        for frame in self.kept:
            if frame.get("type") == kind:
                self.kept.remove(frame)
                return frame
        while (frame := self.raw()).get("type") != kind:
            self.kept.append(frame)
        return frame

    def mail(self) -> dict[str, Any]:
        return self.hear("mail")

    def pushed(self, timeout: float | None) -> dict[str, Any] | None:
        """The next mail, if it comes within so long."""
        until = time.monotonic() + (BOUND if timeout is None else timeout)
        for frame in self.kept:
            if frame.get("type") == "mail":
                self.kept.remove(frame)
                return frame
        while True:
            try:
                frame = json.loads(self.socket.recv(timeout=max(0.0, until - time.monotonic())))
            except TimeoutError:
                return None
            if frame.get("type") == "mail":
                return frame
            self.kept.append(frame)

    def ask(self, op: str, **args: Any) -> dict[str, Any]:
        """What is answered to a call."""
        self._number += 1
        self.say(id=self._number, op=op, **args)
        while (frame := self.raw()).get("id") != self._number:
            self.kept.append(frame)
        return frame

    def has_heard_all(self) -> list[dict[str, Any]]:
        """Whatever has come by the time a question is answered: all that was pushed before it."""
        assert self.ask("ping") == {"id": self._number, "ok": {}}
        return self.kept

    def close(self) -> None:
        self._opening.__exit__(None, None, None)

    def __enter__(self) -> "Link":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()


def headers_of(web: Served, name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {web.token(name)}"}


def linked(
    web: Served, name: str, *, path: str = "", headers: dict[str, str] | None = None, **query: Any
) -> Link:
    """Connected as an agent, or a person, with a token of its own."""
    said = "&".join(f"{key}={value}" for key, value in query.items())
    path = path or f"/ws/projects/p?agent={name}"
    url = f"ws://127.0.0.1:{web.port}{path}{'&' + said if said else ''}"
    headers = headers_of(web, name) if headers is None else headers
    return Link(connect(url, additional_headers=headers, compression=None, open_timeout=BOUND))


def linked_locally(web: Served, path: str) -> Link:
    """At the Unix socket."""
    return Link(unix_connect(web.path, f"ws://localhost{path}", compression=None, open_timeout=BOUND))


class Calls(Carriage):
    """Operations as calls over one WebSocket, many at a time, in place of HTTP requests."""

    def __init__(self, web: Served, name: str, token: str) -> None:
        super().__init__(web.url, token, None)
        self._open: dict[int, Future[dict[str, Any]]] = {}
        self._numbers = count()
        self._link = linked(web, name, headers={"Authorization": f"Bearer {token}"}, window=0)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def call(self, name: str, /, *, patience: float = 0.0, **args: Any) -> Any:
        number, answer = next(self._numbers), Future[dict[str, Any]]()
        self._open[number] = answer
        said = {"ref" if key == "id" else key: value for key, value in args.items() if value is not None}
        self._link.say(id=number, op=name, **said)
        found = answer.result(BOUND + patience)
        if "ok" not in found:
            raise errors.told(found)
        return base64.b64decode(found["ok"]["content"]) if name == "attachment" else found["ok"]

    def _read(self) -> None:
        try:
            while True:
                frame = json.loads(self._link.socket.recv())
                if "id" in frame:
                    self._open.pop(frame.pop("id")).set_result(frame)
        except ConnectionClosed:
            pass

    def close(self) -> None:
        self._link.close()
        self._reader.join(BOUND)
        super().close()
