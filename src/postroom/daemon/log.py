"""The daemon's log: one line of JSON for what happens, in a file that begins anew when it is large."""

import json
import logging
import logging.handlers
import os
from io import TextIOWrapper
from typing import Any

from postroom import host
from postroom.daemon.place import log_path

_LARGEST, _KEPT = 1 << 20, 3
_log = logging.getLogger("postroom.daemon")


def begin(home: str) -> None:
    where = log_path(home)
    host.private_directory(os.path.dirname(where))
    handler = _Private(where, maxBytes=_LARGEST, backupCount=_KEPT, delay=True)
    handler.setFormatter(_Line("%(asctime)s"))
    for earlier in _log.handlers:
        earlier.close()
    _log.handlers[:] = [handler]
    _log.setLevel(logging.INFO)
    _log.propagate = False
    logging.getLogger().addHandler(logging.NullHandler())  # libraries complain there, else on our terminal


def note(what: str, **facts: Any) -> None:
    _log.info("%s", what, extra={"facts": facts})


class _Private(logging.handlers.RotatingFileHandler):
    """A file for our eyes only, one that is there already, too."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.chmod(self.baseFilename, 0o600)
        return open(descriptor, "a", encoding="utf-8")


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = getattr(record, "facts", {})
        return json.dumps({"at": self.formatTime(record), "what": record.getMessage(), **facts})
