"""A server that is no room, or one that lies: it says what a test wants it to say."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from postroom.room.remote import RemoteRoom


class Liar:
    """What it answers, by how a path ends; to all else `otherwise`."""

    def __init__(self) -> None:
        self.says: dict[str, Any] = {}
        self.otherwise: Any = {}
        self.status = 200
        self.url = ""
        self.ended = threading.Event()

    def room(self) -> RemoteRoom:
        return RemoteRoom(self.url, token="t", agent="builder", project="p")

    def answer(self, path: str) -> bytes | Callable[[Any], object]:
        bare = path.partition("?")[0]
        found = next((said for end, said in self.says.items() if bare.endswith(end)), self.otherwise)
        return found if isinstance(found, bytes) or callable(found) else json.dumps(found).encode()


@contextmanager
def lying() -> Iterator[Liar]:
    liar = Liar()

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            said = liar.answer(self.path)
            if callable(said):
                said(self.wfile)  # it writes all of it, as it likes
                return
            self.send_response(liar.status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # who asked went away: that is what is tested

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        liar.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield liar
        liar.ended.set()
        server.shutdown()
