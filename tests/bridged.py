"""Programs that bridges reach, each as simple as its protocol allows. What one took in, it notes in a file.

    python -m tests.bridged lines|stream|tui|prompt|files RECORD

`[[work]]` in a text lets a turn go on until it is stopped, `[[noise]]` lets it print much.
"""

import json
import os
import select
import sys
import termios
import tty
from typing import Any

RULE = "─" * 40
NOISE = 4_000  # lines


class Record:
    """What a program took in, one a line."""

    def __init__(self, path: str) -> None:
        self.path = path

    def note(self, text: str) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(text) + "\n")

    def texts(self) -> list[str]:
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]


def say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def noise() -> None:
    for n in range(NOISE):
        sys.stdout.write(f"noise {n} {'x' * 80}\n")
    sys.stdout.flush()


def lines(record: Record) -> None:
    """A program of somebody's own, that knows the words of the bridge `lines`."""
    for line in sys.stdin:
        mail = json.loads(line) if line.startswith("{") else {"text": line.rstrip("\n")}
        record.note(mail["text"])
        if "[[noise]]" in mail["text"]:
            noise()
        if "id" in mail:
            say({"postroom": "seen", "id": mail["id"]})


class Stream:
    """Claude Code as `--replay-user-messages` shows it: an echo when a text is taken, then an answer."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._waiting: list[Any] = []
        self._works = False
        self._answers = 0

    def play(self) -> None:
        for line in sys.stdin:
            said = json.loads(line)
            if said["type"] == "user":
                self._waiting.append(said)
            else:
                self._stop(said)
            while self._waiting and not self._works:
                self._turn(self._waiting.pop(0))

    def _turn(self, said: Any) -> None:
        text = said["message"]["content"]
        self._record.note(text)
        say({"type": "system", "subtype": "init"})
        say({**said, "isReplay": True})
        self._answers += 1
        message = {
            "id": f"msg_{self._answers}",
            "model": "scripted",
            "content": [{"type": "text", "text": "yes"}],
        }
        say({"type": "assistant", "message": message, "parent_tool_use_id": None})
        if "[[noise]]" in text:
            noise()
        self._works = "[[work]]" in text
        if not self._works:
            say({"type": "result", "subtype": "success"})

    def _stop(self, said: Any) -> None:
        say(
            {"type": "control_response", "response": {"subtype": "success", "request_id": said["request_id"]}}
        )
        if self._works:
            self._works = False
            say({"type": "result", "subtype": "error_during_execution"})


class Tui:
    """A program with a composer as that of Claude Code, which takes pastes, Enter and Escape."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._draft = ""
        self._works = False

    def play(self) -> None:
        before = termios.tcgetattr(0)
        tty.setraw(0)
        try:
            os.write(1, b"\x1b[?2004h")
            while True:
                self._show()
                data = os.read(0, 65536)
                if not data or data == b"\x04":
                    return
                self._take(data.decode())
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, before)

    def _show(self) -> None:
        status = "* Working… (esc to interrupt)" if self._works else "? for shortcuts"
        body = self._draft.replace("\n", "\r\n  ")
        rows = self._draft.split("\n")
        cursor = f"\x1b[{1 + len(rows)};{3 + len(rows[-1])}H"  # where one types
        os.write(1, f"\x1b[2J\x1b[H{RULE}\r\n\u276f {body}\r\n{RULE}\r\n  {status}{cursor}".encode())

    def _take(self, keys: str) -> None:
        if keys.startswith("\x1b[200~"):
            while not keys.endswith("\x1b[201~"):
                keys += os.read(0, 65536).decode()
            self._draft += keys[6:-6].replace("\r", "\n")
        elif keys == "\x1b":
            self._works = False
        elif keys == "\r":
            self._record.note(self._draft)
            self._works, self._draft = "[[work]]" in self._draft, ""
        else:
            self._draft += keys


def prompt(record: Record) -> None:
    """A program that asks for one line after the other, below what it has said, as an interpreter does."""
    while True:
        try:
            record.note(input("ask> "))
        except EOFError:
            return
        sys.stdout.write("so it is\n")


def files(record: Record) -> None:
    """A program that reads the letters of its inbox, as they sort, and puts them away."""
    inbox = os.path.join(os.environ["POSTROOM_MAILBOX"], "inbox")
    while True:
        for name in sorted(name for name in os.listdir(inbox) if name.endswith(".json")):
            with open(os.path.join(inbox, name), encoding="utf-8") as file:
                text = json.load(file)["payload"]["text"]
            record.note(text)
            if "[[noise]]" in text:
                noise()
            os.rename(os.path.join(inbox, name), os.path.join(inbox, "processed", name))
            say(f"read {name}")
        select.select([], [], [], 0.01)


def main(scene: str, path: str) -> None:
    record = Record(path)
    match scene:
        case "lines":
            lines(record)
        case "stream":
            Stream(record).play()
        case "prompt":
            prompt(record)
        case "files":
            files(record)
        case "tui":
            Tui(record).play()
        case _:
            raise SystemExit(f"no scene {scene}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
