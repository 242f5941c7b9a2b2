"""Answers that are the same for everybody and in every room: what a client asks first, and waits for.

They are written down (`ready.json`, by `make fix`, from what the server itself says), so that nobody has to
wait for a daemon to hear them. Standard library only.
"""

import json
import os

TYPE_CHECKING = False  # what `typing` takes to load is felt
if TYPE_CHECKING:
    from typing import Any

VERSION = "io.modelcontextprotocol/protocolVersion"  # of the newer protocol, in each request
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class Ready:
    """For one client. What is not quite as usual it leaves to the server, which says what is wrong."""

    def __init__(self) -> None:
        path = os.path.join(os.path.dirname(__file__), "ready.json")
        with open(path, encoding="utf-8") as file:
            self._known: dict[str, dict[str, Any]] = json.load(file)
        self._version = ""

    def answer(self, method: str, params: "dict[str, Any]") -> "Any":
        """The result; None: who asks that must wait."""
        meta: Any = params.get("_meta") or {}
        if method == "initialize":
            return self._opened(params)
        if not params.keys() <= {"_meta"} or not hasattr(meta, "items"):
            return None
        version = meta.get(VERSION, self._version)
        if VERSION in meta and not hasattr(meta.get(CAPABILITIES), "items"):
            return None
        return self._known.get(str(version), {}).get(method)

    def _opened(self, params: "dict[str, Any]") -> "Any":
        version = str(params.get("protocolVersion"))
        who: Any = params.get("clientInfo")
        is_sound = hasattr(params.get("capabilities"), "items") and hasattr(who, "items")
        if not is_sound or not all(isinstance(who.get(name), str) for name in ("name", "version")):
            return None
        found = self._known.get(version, {}).get("initialize")
        if found is not None:
            self._version = version
        return found
