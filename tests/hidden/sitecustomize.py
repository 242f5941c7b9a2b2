"""Put on PYTHONPATH, hides one thing that other platforms do not have: HIDDEN_IN_TESTS names it."""

import _socket
import builtins
import os
import socket
import sys
from typing import Any


def _hide_module(name: str) -> None:
    sys.modules[name] = None  # type: ignore[assignment] - so that importing it fails


def _hide_unix_sockets() -> None:
    family, make = socket.AF_UNIX, socket.socketpair
    del socket.AF_UNIX, _socket.AF_UNIX

    def socketpair(*args: Any, **kwargs: Any) -> Any:
        """Windows has this one too, made otherwise; event loops cannot do without."""
        return make(*(args or (family,)), **kwargs)

    socket.socketpair = socketpair


def _hide_proc() -> None:
    def without(function: Any) -> Any:
        def hiding(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            if isinstance(path, (str, bytes)) and os.fsdecode(path).startswith("/proc"):
                raise FileNotFoundError(2, "No such file or directory", path)
            return function(path, *args, **kwargs)

        return hiding

    builtins.open = without(builtins.open)
    for name in ("open", "stat", "lstat", "readlink", "listdir", "scandir", "access"):
        setattr(os, name, without(getattr(os, name)))


match os.environ.get("HIDDEN_IN_TESTS"):
    case "fcntl" | "pty" as module:
        _hide_module(module)
    case "AF_UNIX":
        _hide_unix_sockets()
    case "/proc":
        _hide_proc()
    case _:
        pass
