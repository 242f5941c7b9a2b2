"""What real agents gave their hooks, recorded under `data/hooks`, and what they accept from one."""

import glob
import json
import os
from typing import Any, NamedTuple

from postroom.protocol import keyword

HOOKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "hooks")
ACCEPTED = "accepted.json"  # beside the captures: what the runtime accepts from a hook, by event


class Capture(NamedTuple):
    """One firing of a hook."""

    runtime: str
    name: str  # the event, and what sets it apart from others of it
    stdin: dict[str, Any]
    env: dict[str, str]

    @property
    def event(self) -> str:
        return self.name.partition("-")[0]


def files(runtime: str = "*") -> list[str]:
    """Where they are."""
    found = glob.glob(os.path.join(HOOKS, runtime, "*.json"))
    return sorted(path for path in found if os.path.basename(path) != ACCEPTED)


def transcript(runtime: str) -> str:
    """Where that of a short session is."""
    return os.path.join(HOOKS, runtime, "transcript.jsonl")


def captures(runtime: str) -> list[Capture]:
    """All that were recorded of a runtime."""
    found: list[Capture] = []
    for path in files(runtime):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        found.append(Capture(runtime, os.path.basename(path)[:-5], kept["stdin"], kept["env"]))
    return found


def schemas(runtime: str) -> dict[str, Any]:
    """What a runtime accepts from a hook, by event; nothing of one that has none."""
    path = os.path.join(HOOKS, runtime, ACCEPTED)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def schema(runtime: str, event: str) -> dict[str, Any] | None:
    """What a runtime accepts from a hook at an event; None: nothing."""
    found = schemas(runtime).get(event)
    return keyword.register(found) if found else None


def strings(value: Any) -> list[str]:
    """Every text in a document."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inside for text in strings(each)]
