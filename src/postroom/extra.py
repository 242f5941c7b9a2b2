"""What to run where a library is missing that an extra of ours brings: as this Postroom was installed."""

import os
import re
import shlex
import sys
from typing import Any
from urllib.parse import unquote, urlsplit

_FOR_EXTRA = re.compile(r"""([A-Za-z0-9._-]+)[^;]*;.*\bextra *== *["']([\w-]+)["']""")


def hint(name: str) -> str:
    """The command that installs an extra."""
    source = _source(name)
    where = " in the clone" if source[-1].startswith(".[") else ""
    return f"Install the extra {name}{where}: {_command(*source)}"


def library(name: str) -> str:
    """The command that installs a library beside us, which is in none of our extras."""
    if "/pipx/venvs/" in _prefix():
        return f"Install it: pipx inject postroom {name}"
    if "/uv/tools/" in _prefix():
        return f"Install it: {_command('--with', name, *_source())}"
    return f"Install it: {_command(name)}"


def _command(*what: str) -> str:
    words = shlex.join(what)
    if "/uv/tools/" in _prefix():
        return f"uv tool install --force {words}"
    if "/pipx/venvs/" in _prefix():
        return f"pipx install --force {words}"
    program = shlex.quote(sys.executable)
    if _has_pip():
        return f"{program} -m pip install {words}"
    return f"uv pip install --python {program} {words}"


def _prefix() -> str:
    return sys.prefix.replace(os.sep, "/")


def _has_pip() -> bool:
    from importlib.util import find_spec  # noqa: PLC0415 - rarely

    return find_spec("pip") is not None


def _source(*extras: str) -> list[str]:
    """Ourselves with these extras, as an installer is told: from the clone, if that is still there, else by
    the name. What `direct_url.json` says is in PEP 610.
    """
    import json  # noqa: PLC0415 - rarely
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        ours = distribution("postroom")
        told: dict[str, Any] = json.loads(ours.read_text("direct_url.json") or "{}")
        url, repository = str(told.get("url") or ""), told.get("vcs_info")
    except (PackageNotFoundError, ValueError, AttributeError):
        return [f"postroom{_listed(extras)}"]
    names = _listed({*extras, *_present(ours.requires or [])})
    if repository:
        revision = repository.get("requested_revision")
        return [f"postroom{names} @ {repository['vcs']}+{url}{f'@{revision}' if revision else ''}"]
    if not url.startswith("file:"):
        return [f"postroom{names} @ {url}" if url else f"postroom{names}"]
    path = unquote(urlsplit(url).path)
    lead = ["-e"] if told.get("dir_info", {}).get("editable") else []
    return [*lead, f"{path if os.path.exists(path) else '.'}{names}"]


def _listed(extras: "tuple[str, ...] | set[str]") -> str:
    return f"[{','.join(sorted(extras))}]" if extras else ""


def _present(requires: list[str]) -> set[str]:
    """The extras that are there already: where we have an environment of our own, it is made anew."""
    if not any(own in _prefix() for own in ("/uv/tools/", "/pipx/venvs/")):
        return set()
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - rarely

    there, missing = set[str](), set[str]()
    for found in filter(None, map(_FOR_EXTRA.match, requires)):
        try:
            distribution(found[1])
        except PackageNotFoundError:
            missing.add(found[2])
        else:
            there.add(found[2])
    return there - missing
