"""Makes captures fit to keep: no path of this machine, the same ids every time, nothing of great length."""

import hashlib
import json
import os
import re
import sys
from typing import Any

from tests.agents.cli import Place
from tests.agents.pin import cache
from tests.process import ROOT

LONGEST = 400  # characters of a string; the agents' own prompts are theirs, and no test needs them
MOST = 40  # items of a list

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MADE = r"(?:toolu|call|msg|resp|fc|ctc|chatcmpl|prt|ses)[_-][0-9A-Za-z]{16,}"
_ID = re.compile(rf"{_UUID}|{_MADE}|\b[a-f0-9]{{17}}\b|\b[0-9a-f]{{32,64}}\b|\b[0-9a-f]{{8}}(?=\.jsonl)")


class Scrub:
    """Changes values of one runtime's captures; the same thing becomes the same thing in all of them."""

    def __init__(self, seed: str, place: Place, pids: dict[int, int]) -> None:
        self._seed = seed
        self._ids: dict[str, str] = {}
        self._pids = pids
        mangled = re.sub(r"[^A-Za-z0-9]", "-", place.project)
        self._paths = [
            (place.home, "/home/dev"),
            (place.project, "/home/dev/shop"),
            (place.tmp, "/tmp/dev"),
            (place.root, "/tmp/rig"),
            (mangled, "-home-dev-shop"),
            (os.path.realpath(cache()), "/opt/agents"),
            (cache(), "/opt/agents"),
            (sys.executable, "/usr/bin/python3"),
            (ROOT, "/opt/postroom"),
            (place.url, "http://127.0.0.1:8787"),
        ]

    def value(self, value: Any) -> Any:
        """A copy in which nothing is left that another machine or another run would have otherwise."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(key): self.value(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.value(each) for each in value[:MOST]]
        if isinstance(value, int) and not isinstance(value, bool):
            return self._pids.get(value, value)
        return value

    def line(self, line: str) -> str:
        """One line of JSON, scrubbed."""
        return json.dumps(self.value(json.loads(line)), ensure_ascii=False)

    def _text(self, text: str) -> str:
        if text[:1] == "{" and text[-1:] == "}":
            try:
                return json.dumps(self.value(json.loads(text)), ensure_ascii=False)
            except ValueError:
                pass
        for path, stand_in in self._paths:
            text = text.replace(path, stand_in)
        text = _ID.sub(lambda match: self._id(match[0]), text)
        if text.isdecimal() and int(text) in self._pids:
            text = str(self._pids[int(text)])
        text = re.sub(r"(?<=/)\d+(?=\.sock)", lambda match: str(self._pids.get(int(match[0]), 1)), text)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"

    def _id(self, found: str) -> str:
        """Another id of the same shape, numbered by its first appearance."""
        # A short form of a session's id must stay a part of the long one.
        for known, stand_in in self._ids.items():
            if known.startswith(found):
                return stand_in[: len(found)]
        if found not in self._ids:
            self._ids[found] = self._stand_in(found, len(self._ids))
        return self._ids[found]

    def _stand_in(self, found: str, number: int) -> str:
        digits = iter(hashlib.sha256(f"{self._seed} {number}".encode()).hexdigest() * 2)
        prefix = re.match(r"[a-z]+[_-]", found) if not re.fullmatch(_UUID, found) else None
        kept = len(prefix[0]) if prefix else 0
        kind = (
            (14, 19) if re.fullmatch(_UUID, found) else ()
        )  # version and variant: a time-ordered id stays one
        letters = [
            letter if at < kept or at in kind or not letter.isalnum() else next(digits)
            for at, letter in enumerate(found)
        ]
        return "".join(letters)
