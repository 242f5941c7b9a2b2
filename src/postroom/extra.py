"""What to run where a library is missing that an extra of ours brings: as this Postroom was installed."""

import os
import shlex
import sys
from urllib.parse import unquote, urlsplit


def hint(name: str) -> str:
    """The command that installs an extra."""
    source = _source()
    where = " in the clone" if source == "." else ""
    package, at, url = source.partition(" @ ")
    return f"Install the extra {name}{where}: {_command(f'{package}[{name}]{at}{url}')}"


def library(name: str) -> str:
    """The command that installs a library beside us, which is in none of our extras."""
    if "/pipx/venvs/" in _prefix():
        return f"Install it: pipx inject postroom {name}"
    if "/uv/tools/" in _prefix():
        return f"Install it: uv tool install --force --with {name} {shlex.quote(_source())}"
    return f"Install it: {_command(name)}"


def _command(what: str) -> str:
    what = shlex.quote(what)
    if "/uv/tools/" in _prefix():
        return f"uv tool install --force {what}"
    if "/pipx/venvs/" in _prefix():
        return f"pipx install --force {what}"
    program = shlex.quote(sys.executable)
    if _has_pip():
        return f"{program} -m pip install {what}"
    return f"uv pip install --python {program} {what}"


def _prefix() -> str:
    return sys.prefix.replace(os.sep, "/")


def _has_pip() -> bool:
    from importlib.util import find_spec  # noqa: PLC0415 - rarely

    return find_spec("pip") is not None


def _source() -> str:
    """Where we were installed from: the clone, if that is still there, else the name."""
    import json  # noqa: PLC0415 - rarely
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        told = distribution("postroom").read_text("direct_url.json")
        url = str(json.loads(told)["url"]) if told else ""
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return "postroom"
    path = unquote(urlsplit(url).path) if url.startswith("file:") else ""
    if path:
        return path if os.path.isdir(path) else "."
    return f"postroom @ {url}" if url else "postroom"
