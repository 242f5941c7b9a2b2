"""A tree of mailboxes, as another tool could have left it."""

import gzip
import json
from pathlib import Path
from typing import Any


class Tree:
    """`tree.put("builder/inbox", id="msg-1", **{"from": "planner"})`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._count = 0

    def put(self, folder: str, *, file: str = "", packed: bool = False, **fields: Any) -> Path:
        """A letter in a folder, an hour after the one before it; its file."""
        self._count += 1
        at = f"2026-03-02T{self._count % 24:02}:{self._count // 24:02}:00Z"
        letter = {"id": f"msg-{self._count}", "timestamp": at, "payload": {"text": f"text {self._count}"}}
        fields = {key.rstrip("_"): value for key, value in fields.items()}
        return self.write(folder, file or f"{self._count:04}.json", letter | fields, packed=packed)

    def write(self, folder: str, file: str, content: Any, *, packed: bool = False) -> Path:
        path = self.root / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        path.write_bytes(gzip.compress(data) if packed else data)
        return path
