"""The wire formats in which agents ask a model. Each sibling reads a request and writes its answer.

`read(body)` gives what was asked, `document(body, acts)` the whole answer, `stream(document)` the same as
server-sent events, and `error(status, words)` what is said in place of an answer.
"""

import json
import os
from typing import Any

Event = tuple[str | None, Any]  # the event's name where the dialect has names, and its data


def fresh(prefix: str) -> str:
    """An id that no other answer has."""
    return prefix + os.urandom(10).hex()


def size(body: dict[str, Any]) -> int:
    """About how many tokens a request has: agents compact what they think is long."""
    return len(json.dumps(body)) // 4
