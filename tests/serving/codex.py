"""The app-server of Codex 0.166.0, as far as bridges speak with it."""

import json
import os
import sys
import threading
import uuid
from collections.abc import Callable
from typing import Any

from tests.bridged import Record, noise

Say = Callable[[Any], None]
CWD = "/srv/shop"


class Wrong(Exception):
    """What is answered with an error."""

    def __init__(self, message: str, code: int = -32600) -> None:
        super().__init__(message)
        self.code = code


class AppServer:
    """All threads of one server; each connection has a `say`."""

    def __init__(self, record: Record, cwd: str = CWD) -> None:
        self._record = record
        self._cwd = cwd
        self._path = f"{record.path}.threads"
        self.injected = Record(f"{record.path}.injected")
        self._guard = threading.RLock()
        self._says: list[Say] = []
        self._asked: dict[str, tuple[str, Any]] = {}
        self.loaded: dict[str, Any] = {}
        self.mute: set[str] = set()  # methods that are never answered
        self.refuses: set[str] = set()  # methods that it does not know
        self.refuses_after: set[str] = set()  # methods that are answered with an error, once they are done
        self.calls: list[str] = []

    # the wire

    def connect(self, say: Say) -> None:
        with self._guard:
            self._says.append(say)

    def hear(self, said: Any, say: Say) -> None:
        with self._guard:
            if "method" not in said:
                self._decided(said)
                return
            self.calls.append(said["method"])
            if "id" not in said or said["method"] in self.mute:
                return
            try:
                answer = {"result": self._done(said["method"], said["params"])}
            except Wrong as exc:
                answer = {"error": {"code": exc.code, "message": str(exc)}}
            if answer.get("result") is not None or "error" in answer:
                say({"id": said["id"], **answer})
            self._play()

    def tell(self, method: str, **params: Any) -> None:
        for say in self._says:
            try:
                say({"method": method, "params": params})
            except Exception:
                continue  # it has left

    # what it does

    def _done(self, method: str, params: Any) -> Any:
        if method in self.refuses:
            raise Wrong(f"unknown method {method}")
        found = self._do(method, params)
        if method in self.refuses_after:
            raise Wrong("it was taken all the same")
        return found

    def _do(self, method: str, params: Any) -> Any:
        match method:
            case "initialize":
                return {"userAgent": "scripted/0.166.0", "codexHome": "/nowhere", "platformOs": "linux"}
            case "thread/start":
                return {"thread": self.start(params["cwd"])}
            case "thread/resume":
                return {"thread": self._resume(params["threadId"])}
            case "thread/loaded/list":
                return {"data": [*self.loaded], "nextCursor": None}
            case _:
                return self._of(self._thread(params["threadId"]), method, params)

    def _of(self, thread: Any, method: str, params: Any) -> Any:
        match method:
            case "thread/read":
                return {"thread": {key: value for key, value in thread.items() if key != "queue"}}
            case "thread/turns/list" if not thread["turns"] and not self.injected.texts():
                raise Wrong("thread is not materialized yet")
            case "thread/turns/list":
                return {"data": [*reversed(thread["turns"])][: params["limit"]]}
            case "thread/inject_items":
                self.injected.note(params["items"][0]["content"][0]["text"])
                self._keep()
                return {}
            case "thread/queue/list":
                return {"data": thread["queue"]}
            case "thread/queue/add":
                thread["queue"].append({"id": str(uuid.uuid4()), **params})
                return {"queuedSubmission": thread["queue"][-1]}
            case _:
                return self._turned(thread, method, params)

    def _turned(self, thread: Any, method: str, params: Any) -> Any:
        match method:
            case "turn/start":
                return self._start(thread, params)
            case "turn/steer":
                return self._steer(thread, params)
            case "turn/interrupt":
                return self._interrupt(thread, params)
            case _:
                raise Wrong(f"unknown method {method}")

    def _thread(self, id: str) -> Any:
        if id not in self.loaded:
            raise Wrong(f"thread not loaded: {id}")
        return self.loaded[id]

    def start(self, cwd: str = "", **more: Any) -> Any:
        """A new thread."""
        thread = {
            "id": str(uuid.uuid4()), "cwd": cwd or self._cwd, "status": {"type": "idle"}, "ephemeral": False,
            "parentThreadId": None, "originator": "codex-tui", "turns": [], "queue": [], **more,
        }  # fmt: skip
        self.loaded[thread["id"]] = thread
        return thread

    def _resume(self, id: str) -> Any:
        known: Any = {}
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                known = json.load(file)
        if id not in known:
            raise Wrong(f"no rollout found for thread id {id}")
        self.loaded[id] = known[id]
        for turn in self.loaded[id]["turns"]:
            if turn["status"] == "inProgress":
                turn["status"] = "interrupted"
        self._status(self.loaded[id], "idle")
        return self.loaded[id]

    def _keep(self) -> None:
        with open(f"{self._path}.new", "w", encoding="utf-8") as file:
            json.dump(self.loaded, file)
        os.replace(file.name, self._path)

    # turns

    def _status(self, thread: Any, kind: str, *flags: str) -> None:
        thread["status"] = {"type": kind} | ({"activeFlags": [*flags]} if kind == "active" else {})
        self.tell("thread/status/changed", threadId=thread["id"], status=thread["status"])

    def _active(self, thread: Any) -> Any:
        turns = thread["turns"]
        return turns[-1] if turns and turns[-1]["status"] == "inProgress" else None

    def _start(self, thread: Any, params: Any) -> Any:
        text = params["input"][0]["text"]
        if "[[no]]" in text:
            raise Wrong("it does not want to")
        if "[[lose]]" in text:
            return {"turn": {"id": str(uuid.uuid4()), "status": "inProgress", "items": []}}
        if self._active(thread):
            self._take(thread, params)
        else:
            self._begin(thread, params)
        if "[[taken]]" in text:
            raise Wrong("it was taken all the same")
        if "[[broken]]" in text:
            raise Wrong("internal error", -32603)
        return None if "[[mute]]" in text else {"turn": {**thread["turns"][-1], "items": []}}

    def _steer(self, thread: Any, params: Any) -> Any:
        turn = self._active(thread)
        if turn is None:
            raise Wrong("no active turn to steer")
        if turn["id"] != params["expectedTurnId"]:
            raise Wrong(f"expected active turn id `{params['expectedTurnId']}` but found `{turn['id']}`")
        self._take(thread, params)
        return {"turnId": turn["id"]}

    def _interrupt(self, thread: Any, params: Any) -> Any:
        turn = self._active(thread)
        if turn is None or turn["id"] != params["turnId"]:
            raise Wrong("no active turn to interrupt")
        if "[[deaf]]" not in thread["said"]:
            self._end(thread, "interrupted")
        return {}

    def _begin(self, thread: Any, params: Any) -> None:
        turn = {"id": str(uuid.uuid4()), "status": "inProgress", "error": None, "items": []}
        thread["turns"].append(turn)
        thread["due"] = True
        self._status(thread, "active")
        self._take(thread, params)

    def _take(self, thread: Any, params: Any) -> None:
        text = params["input"][0]["text"]
        self._record.note(text)
        item = {"type": "userMessage", "id": str(uuid.uuid4()), "clientId": params.get("clientUserMessageId")}
        thread["turns"][-1]["items"].append({**item, "content": params["input"]})
        thread["said"] = text
        self._keep()

    def _play(self) -> None:
        """What the model does, once a call was answered."""
        for thread in list(self.loaded.values()):
            if self._active(thread) is None and thread["queue"]:
                self._begin(thread, thread["queue"].pop(0))
            if thread.pop("due", False):
                self._model(thread, thread["said"])

    def _model(self, thread: Any, text: str) -> None:
        if "[[noise]]" in text:
            noise()
        if "[[compact]]" in text:
            thread["turns"][-1]["items"].append({"type": "contextCompaction", "id": str(uuid.uuid4())})
        if "[[ask]]" in text:
            number = f"ask-{len(self._asked)}"
            self._asked[number] = thread["id"], text
            self._status(thread, "active", "waitingOnApproval")
            about = {"threadId": thread["id"], "command": "touch asked", "reason": "May I?"}
            asks = {"method": "item/commandExecution/requestApproval", "id": number, "params": about}
            if "[[ask]] files" in text:
                about = {"threadId": thread["id"], "itemId": "item-1", "reason": "harmless"}
                asks |= {"method": "item/fileChange/requestApproval", "params": about}
                changes = [{"path": "/etc/hosts", "kind": {"type": "update"}, "diff": "+127.0.0.1 evil"}]
                item = {"type": "fileChange", "id": "item-1", "changes": changes, "status": "inProgress"}
                self.tell("item/started", threadId=thread["id"], item=item)
            for say in self._says:
                say(asks)
        elif "[[fail]]" in text:
            thread["turns"][-1]["error"] = {"message": "the model cannot be reached"}
            self._end(thread, "failed")
        elif "[[work]]" not in text and "[[deaf]]" not in text:
            self._answer(thread)

    def _answer(self, thread: Any, text: str = "yes") -> None:
        item = {"type": "agentMessage", "id": str(uuid.uuid4()), "text": text}
        thread["turns"][-1]["items"].append(item)
        self.tell("item/completed", threadId=thread["id"], turnId=thread["turns"][-1]["id"], item=item)
        self._end(thread, "completed")

    def finish(self, thread: Any) -> None:
        """The model answers, after all."""
        with self._guard:
            self._answer(thread)

    def _end(self, thread: Any, status: str) -> None:
        turn = thread["turns"][-1]
        turn["status"] = status
        self._keep()
        self.tell("turn/completed", threadId=thread["id"], turn={**turn, "items": []})
        self._status(thread, "idle")

    def _decided(self, said: Any) -> None:
        thread, _ = self._asked.pop(str(said["id"]))
        decision = said.get("result", {}).get("decision") or "none"
        self._record.note(f"decision: {decision}")
        self._answer(self.loaded[thread], f"You said {decision}.")


def serve_stdio(record: Record) -> None:
    server, calls = AppServer(record), Record(f"{record.path}.calls")

    def say(what: Any) -> None:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()

    server.connect(say)
    for line in sys.stdin:
        calls.note(json.loads(line).get("method", ""))
        server.hear(json.loads(line), say)


class Listening:
    """One that listens at a Unix socket, as that of Codex's terminals does, in this process."""

    def __init__(self, home: str, server: AppServer) -> None:
        from websockets.sync.server import unix_serve

        self._server = server
        self.path = os.path.join(home, "app-server-control", "app-server-control.sock")
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self._links: list[Any] = []
        self._listener = unix_serve(self._talk, self.path, compression=None)
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()

    def _talk(self, link: Any) -> None:
        self._links.append(link)

        def say(what: Any) -> None:
            link.send(json.dumps(what))

        self._server.connect(say)
        for line in link:
            self._server.hear(json.loads(line), say)

    def cut(self) -> None:
        """All connections are broken; new ones are taken."""
        links, self._links = self._links, []
        for link in links:
            link.close()

    def close(self) -> None:
        """Gone, with all connections."""
        self._listener.shutdown()
        self.cut()
        if os.path.exists(self.path):
            os.unlink(self.path)
