"""A model that plays scripts: an HTTP server on loopback for agents that are to work without a network.

It speaks Anthropic Messages, OpenAI Responses and chat completions, and Gemini, whole or streamed; `script`
says what it answers, `fault` when it does not, `log` what it was asked. `Model` runs it in a thread,
`ModelProcess` as a child, which may be in a network namespace of its own:

    python -m tests.agents.model --port 8787 --log requests.jsonl
"""

import argparse
import fcntl
import gzip
import itertools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, Self
from urllib.parse import urlparse

from tests.agents.dialects import anthropic, chat, gemini, responses
from tests.agents.fault import Fault, Orders
from tests.agents.log import BOUND, PAUSE, Log, Outcome
from tests.agents.script import reply
from tests.process import ROOT

HOST = "127.0.0.1"
_DIALECTS = {"/messages": anthropic, "/responses": responses, "/chat/completions": chat}
_LEAST = 0.03  # seconds: every model takes longer than the tick by which the starts of processes are told
_MODELS = ("scripted-1", "claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, log: str) -> None:
        super().__init__((HOST, port), _Handler)
        self.stopping = threading.Event()
        self.orders = Orders(log)
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._numbers = itertools.count(1)

    def record(self, path: str, body: dict[str, Any]) -> int:
        """Note a request; its number."""
        number = next(self._numbers)
        self._note(path=path, body=body, number=number)
        return number

    def ended(self, number: int, outcome: Outcome) -> None:
        """Note what became of it."""
        self._note(number=number, outcome=outcome)

    def _note(self, **what: Any) -> None:
        """One line, in one write, so that lines of parallel requests do not mix."""
        os.write(self._log, (json.dumps({"time": time.time(), **what}) + "\n").encode())

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # an agent may hang up; its turn was interrupted
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        self.stopping.set()
        super().server_close()
        os.close(self._log)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]  no other server makes it

    def do_HEAD(self) -> None:
        self._answer({})

    def do_GET(self) -> None:
        if not urlparse(self.path).path.endswith("/models"):
            return self._answer({}, 404)
        listed = [{"id": name, "object": "model", "type": "model", "display_name": name} for name in _MODELS]
        return self._answer({"object": "list", "data": listed, "models": [], "has_more": False})

    def do_POST(self) -> None:
        raw = self._read()
        path = urlparse(self.path).path
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return self._answer({"error": "not JSON"}, 400)
        if path.endswith(("/count_tokens", ":countTokens")):
            return self._answer({"input_tokens": 10, "totalTokens": 10})
        dialect = _dialect(path)
        if dialect is None:
            return self._answer({}, 404)
        return self._meet(dialect, path, body)

    def _meet(self, dialect: ModuleType, path: str, body: dict[str, Any]) -> None:
        """Answer, or do what the test wants in place of it; what became of the request is logged."""
        number = self.server.record(path, body)
        outcome: Outcome = "left"  # for whom an answer cannot be written any more
        try:
            is_streamed = bool(body.get("stream")) or ":stream" in path
            fault = self.server.orders.fault(body)
            if fault is not None and fault.kind in ("hold", "stall"):
                if not self._hold():
                    self.close_connection = True
                    return
                fault = None if fault.kind == "hold" else Fault("cut")
            if fault is None or fault.kind == "break":
                is_whole = self._play(dialect, body, streamed=is_streamed, breaks=fault is not None)
                outcome = "answered" if is_whole else "broken" if fault is not None else "left"
            elif fault.kind == "refuse":
                self._refuse(dialect, fault)
                outcome = "refused"
            else:
                self._hang_up()
                outcome = "cut"
        finally:
            self.server.ended(number, outcome)

    def _hold(self) -> bool:
        """Wait until there is no order to hold any more; whether the client is still there then."""
        while self.server.orders.stands():
            if self._is_left() or self.server.stopping.wait(PAUSE):
                return False
        return not self._is_left()

    def _is_left(self) -> bool:
        """Whether the client has hung up."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _refuse(self, dialect: ModuleType, fault: Fault) -> None:
        words = f"The scripted model refuses this request with {fault.status}."
        more = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
        self._answer(dialect.error(fault.status, words), fault.status, **more)

    def _hang_up(self) -> None:
        """End the connection at once, with a reset: what was not sent yet never will be."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _play(self, dialect: ModuleType, body: dict[str, Any], *, streamed: bool, breaks: bool) -> bool:
        """Answer as the script wants; whether the whole answer was written to a client that was there."""
        answer = reply(dialect.read(body))
        if not self._wait(max(answer.delay, _LEAST)):
            self.close_connection = True
            return False
        document = dialect.document(body, answer.acts)
        if not streamed:
            if breaks:
                data = json.dumps(document).encode()
                self._begin("application/json", len(data))
                self.wfile.write(data[: len(data) // 2])
                return False
            self._answer(document)
            return True
        self._begin("text/event-stream")
        events = list(dialect.stream(document))
        for name, data in events[: max(1, len(events) // 2)] if breaks else events:
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode())
        return not breaks

    def _wait(self, seconds: float) -> bool:
        """Wait as long as the script wants; whether the client is still there then."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.server.stopping.wait(min(left, PAUSE)):
                return False
            if self._is_left():
                return False
        return True

    def _begin(self, kind: str, size: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        if size is not None:
            self.send_header("Content-Length", str(size))
        self.end_headers()
        self.close_connection = True

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            raw = self._chunks()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match self.headers.get("Content-Encoding"):
            case "gzip":
                return gzip.decompress(raw)
            case "deflate":
                return zlib.decompress(raw)
            case _:
                return raw

    def _chunks(self) -> bytes:
        chunks: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _answer(self, document: dict[str, Any], status: int = 200, **headers: str) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """The requests have a log of their own."""


def _dialect(path: str) -> ModuleType | None:
    if "enerateContent" in path:
        return gemini
    return next((dialect for end, dialect in _DIALECTS.items() if path.endswith(end)), None)


class Model:
    """The model in a thread. Serves from the start of its `with` block to the end."""

    def __init__(self, log: str, port: int = 0) -> None:
        self.log = Log(log)
        self._server = _Server(port, log)
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class ModelProcess:
    """The model as a child; started by a `prefix` like `unshare -n`, alone with a loopback of its own."""

    def __init__(self, log: str, port: int = 0, prefix: Sequence[str] = ()) -> None:
        self.log = Log(log)
        flags = ["--port", str(port), "--log", log, *(["--loopback"] if prefix else [])]
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "tests.agents.model", *flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True,
        )  # fmt: skip
        self.port = self._hear()

    @property
    def pid(self) -> int:
        """Its process, by which others enter its namespaces."""
        return self._process.pid

    def _hear(self) -> int:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], BOUND)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            self._process.kill()
            raise AssertionError("the model did not start")
        return int(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait(BOUND)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


def raise_loopback() -> None:
    """Bring up `lo`, which is down in a new network namespace."""
    up, get, put = 0x1, 0x8913, 0x8914  # IFF_UP, SIOCGIFFLAGS, SIOCSIFFLAGS
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        name, flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, get, request))
        fcntl.ioctl(any_socket, put, struct.pack("16sh14x", name, flags | up))


def main() -> None:
    parser = argparse.ArgumentParser(description="A model that plays scripts, on loopback.")
    parser.add_argument(
        "--port", type=int, default=0, help="0 takes a free one; it is the first line printed"
    )
    parser.add_argument("--log", required=True, metavar="FILE", help="one request a line is appended")
    parser.add_argument(
        "--loopback", action="store_true", help="bring up lo first, in a new network namespace"
    )
    options = parser.parse_args()
    if options.loopback:
        raise_loopback()
    with Model(options.log, options.port) as model:
        os.write(1, f"{model.port}\n".encode())
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        sys.stdin.buffer.read()  # ends with whoever started it


if __name__ == "__main__":
    main()
