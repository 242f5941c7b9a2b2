"""The server of opencode, as far as bridges speak with it."""

import base64
import json
import os
import queue
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.bridged import Record, noise


class Wrong(Exception):
    """What is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Opencode:
    """All sessions of one server."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._path = f"{record.path}.sessions"
        self.injected = Record(f"{record.path}.injected")
        self._guard = threading.RLock()
        self.streams: list[queue.Queue[Any]] = []
        self.sessions: dict[str, Any] = {}
        self._busy: set[str] = set()
        self.asked: dict[str, Any] = {}
        self.failures = 0  # answers to questions that do not get through
        self._later: list[tuple[str, str]] = []
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                self.sessions = json.load(file)

    def _keep(self) -> None:
        with open(f"{self._path}.new", "w", encoding="utf-8") as file:
            json.dump(self.sessions, file)
        os.replace(file.name, self._path)

    def tell(self, kind: str, **properties: Any) -> None:
        for stream in self.streams:
            stream.put({"id": "evt", "type": kind, "properties": properties})

    def answer(self, method: str, path: list[str], query: Any, body: Any) -> tuple[int, Any]:
        with self._guard:
            match method, path:
                case "POST", ["session"]:
                    return 200, self.start(body.get("title", ""))
                case "GET", ["session"]:
                    return 200, [one["info"] for one in self.sessions.values()]
                case "GET", ["session", "status"]:
                    return 200, {id: {"type": "busy"} for id in self._busy}
                case "GET", ["permission" | "question" as kind]:
                    return 200, [one for one in self.asked.values() if one["asks"] == kind]
                case "POST", ["permission" | "question", number, "reply" | "reject" as how]:
                    return self._decided(number, body.get("reply") or how)
                case _, ["session", id, *rest]:
                    if id not in self.sessions:
                        raise Wrong(404, f"Session not found: {id}")
                    return self._of(id, method, rest, query, body)
                case _:
                    raise Wrong(404, "no such path")

    def _of(self, id: str, method: str, rest: list[str], query: Any, body: Any) -> tuple[int, Any]:
        session = self.sessions[id]
        match method, rest:
            case "GET", []:
                return 200, session["info"]
            case "GET", ["message"]:
                return 200, session["messages"][-int(query["limit"][0]) :]
            case "GET", ["message", number]:
                found = [one for one in session["messages"] if one["info"]["id"] == number]
                if not found:
                    raise Wrong(404, "Message not found")
                return 200, found[0]
            case "POST", ["message"] if body.get("noReply"):
                self._add(id, body)
                self.injected.note(body["parts"][0]["text"])
                return 200, session["messages"][-1]
            case "POST", ["prompt_async"]:
                return self._prompt(id, body)
            case "POST", ["abort"]:
                self._abort(id)
                return 200, True
            case _:
                raise Wrong(404, "no such path")

    def start(self, title: str = "", **more: Any) -> Any:
        """A new session."""
        now = time.time_ns() // 1_000_000
        times = {"created": now, "updated": now}
        info = {"id": f"ses_{uuid.uuid4().hex}", "title": title, "version": "1.18.33", "time": times}
        info |= {"directory": os.getcwd(), **more}
        self.sessions[info["id"]] = {"info": info, "messages": []}
        self._keep()
        return info

    def _prompt(self, id: str, body: Any) -> tuple[int, Any]:
        text = body["parts"][0]["text"]
        if "[[no]]" in text:
            raise Wrong(400, "it does not want to")
        if "[[lose]]" in text:
            return 204, None
        self._record.note(text)
        self._add(id, body)
        if id not in self._busy:
            self._status(id, busy=True)
            self._later.append((id, text))
        if "[[taken]]" in text or "[[broken]]" in text:
            raise Wrong(400 if "[[taken]]" in text else 500, "it was taken all the same")
        return (0, None) if "[[mute]]" in text else (204, None)

    def _add(self, id: str, body: Any) -> None:
        number = body.get("messageID") or f"msg_{uuid.uuid4().hex}"
        info = {"id": number, "role": "user", "sessionID": id, "time": {"created": 1}}
        compaction = [{"type": "compaction"}] if "[[compact]]" in body["parts"][0]["text"] else []
        self.sessions[id]["messages"].append({"info": info, "parts": [*body["parts"], *compaction]})
        self._keep()

    def _status(self, id: str, *, busy: bool) -> None:
        self._busy = self._busy | {id} if busy else self._busy - {id}
        self.tell("session.status", sessionID=id, status={"type": "busy" if busy else "idle"})

    def play(self) -> None:
        """What the model does, once a call was answered."""
        with self._guard:
            later, self._later = self._later, []
            for id, text in later:
                if "[[noise]]" in text:
                    noise()
                if "[[ask]]" in text or "[[wonder]]" in text:
                    self._ask(id, "permission" if "[[ask]]" in text else "question")
                elif "[[fail]]" in text:
                    self._say(id, error={"name": "APIError", "data": {}})
                    self._status(id, busy=False)
                elif "[[work]]" not in text:
                    self._say(id)
                    self._status(id, busy=False)

    def _ask(self, id: str, kind: str) -> None:
        """As a subagent does: in a session of its own."""
        number = f"{kind[:3]}_{len(self.asked)}"
        sub = self.start(parentID=id)["id"]
        self.asked[number] = {"id": number, "asks": kind, "sessionID": sub, "of": id, "permission": "bash"}
        self.failures = 1 if kind == "permission" else 0
        self.tell(f"{kind}.asked", **self.asked[number])

    def _decided(self, number: str, how: str) -> tuple[int, Any]:
        if self.failures:
            self.failures -= 1
            raise Wrong(503, "in a moment")
        if number not in self.asked:
            raise Wrong(404, "no such question")
        id = self.asked.pop(number)["of"]
        self._record.note(f"decision: {how}")
        self._say(id)
        self._status(id, busy=False)
        return 200, True

    def _abort(self, id: str) -> None:
        if id in self._busy:
            self._say(id, error={"name": "MessageAbortedError", "data": {"message": "Aborted"}})
            self._status(id, busy=False)

    def _say(self, id: str, **more: Any) -> None:
        session = self.sessions[id]
        parent = [one["info"]["id"] for one in session["messages"] if one["info"]["role"] == "user"][-1]
        info = {"id": f"{parent}z", "role": "assistant", "parentID": parent, "sessionID": id}
        info |= {"time": {"created": 2, "completed": 3}, **more}
        session["messages"].append({"info": info, "parts": [{"type": "text", "text": "yes"}]})
        session["info"]["time"]["updated"] = time.time_ns() // 1_000_000
        self._keep()
        part = {"type": "text", "text": "yes", "time": {"start": 2, "end": 3}}
        self.tell("message.part.updated", sessionID=id, part=part)


def handler(site: Opencode, password: str) -> type[BaseHTTPRequestHandler]:
    wanted = "Basic " + base64.b64encode(f"opencode:{password}".encode()).decode() if password else ""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            split = urlsplit(self.path)
            if wanted and self.headers.get("authorization") != wanted:
                self._put(401, None)
            elif split.path == "/event":
                self._stream()
            else:
                self._answer([part for part in split.path.split("/") if part], parse_qs(split.query))

        def _answer(self, path: list[str], query: Any) -> None:
            size = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(size)) if size else {}
            try:
                status, found = site.answer(self.command, path, query, body)
            except Wrong as exc:
                status, found = exc.status, {"name": "Error", "data": {"message": str(exc)}}
            if status:
                self._put(status, found)
            site.play()
            if not status:
                threading.Event().wait(60)  # it is never answered

        def _put(self, status: int, found: Any) -> None:
            data = b"" if found is None else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            mine: queue.Queue[Any] = queue.Queue()
            site.streams.append(mine)
            mine.put({"type": "server.connected", "properties": {}})
            while True:
                self.wfile.write(f"data: {json.dumps(mine.get())}\n\n".encode())
                self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            pass

        do_GET = do_POST = _serve

    return Handler


class Quiet(ThreadingHTTPServer):
    """Says nothing of clients that leave."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


def serve_http(record: Record) -> None:
    site = Opencode(record)
    server = Quiet(("127.0.0.1", 0), handler(site, os.environ.get("OPENCODE_SERVER_PASSWORD", "")))
    sys.stdout.write(f"opencode server listening on http://127.0.0.1:{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()
