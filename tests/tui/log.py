"""What a program in a test's terminal did: JSON lines with times of the clock that all processes share."""

import json
import os
import time
from typing import Any


class Log:
    """Each event is in the file before anything follows from it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def __call__(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, "at": time.monotonic(), **fields}) + "\n"
        os.write(self._file, line.encode())


def events(path: str) -> list[dict[str, Any]]:
    """All so far; none where nothing has begun."""
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
