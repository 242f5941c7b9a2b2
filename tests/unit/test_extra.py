"""Where a library is missing, the command that is named installs it as this Postroom was installed."""

import importlib.metadata
import importlib.util
import json
import os
import shlex
import sys
import tomllib

import pytest

from postroom import extra
from tests.process import ROOT

EXTRAS = ("codex", "pty", "acp", "import", "remote")  # that hints name


class Installed:
    """Of a distribution only what tells where it came from."""

    def __init__(self, url: str | None) -> None:
        self._url = url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self._url and json.dumps({"url": self._url})


def install(monkeypatch: pytest.MonkeyPatch, url: str | None, prefix: str, *, pip: bool = True) -> None:
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Installed(url))
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(sys, "executable", f"{prefix}/bin/python")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object() if pip else None)


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/u/.local/share/uv/tools/postroom", "uv tool install --force"),
        ("/home/u/.local/share/pipx/venvs/postroom", "pipx install --force"),
        ("/home/u/venv", "/home/u/venv/bin/python -m pip install"),
    ],
)
def test_an_extra_is_installed_from_the_clone_by_what_has_installed_us(
    monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str], prefix: str, command: str
):
    clone = os.path.join(tmp_path, "my clone")
    os.mkdir(clone)
    install(monkeypatch, f"file://{clone.replace(' ', '%20')}", prefix)
    named = extra.hint("codex").removeprefix("Install the extra codex: ")
    assert shlex.split(named) == [*command.split(), f"{clone}[codex]"]


def test_without_pip_uv_is_named(monkeypatch: pytest.MonkeyPatch):
    install(monkeypatch, None, "/venv", pip=False)
    assert extra.hint("pty").endswith("uv pip install --python /venv/bin/python 'postroom[pty]'")


def test_a_clone_that_is_gone_is_meant_by_where_you_stand(monkeypatch: pytest.MonkeyPatch):
    install(monkeypatch, "file:///nowhere/at/all", "/venv")
    assert extra.hint("pty") == "Install the extra pty in the clone: /venv/bin/python -m pip install '.[pty]'"


def test_what_came_from_elsewhere_is_named_so(monkeypatch: pytest.MonkeyPatch):
    install(monkeypatch, "git+https://example.org/postroom", "/venv")
    assert "'postroom @ git+https://example.org/postroom[pty]'" not in extra.hint("pty")
    assert "'postroom[pty] @ git+https://example.org/postroom'" in extra.hint("pty")


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/x/uv/tools/postroom", "uv tool install --force --with gcsfs postroom"),
        ("/x/pipx/venvs/postroom", "pipx inject postroom gcsfs"),
        ("/venv", "/venv/bin/python -m pip install gcsfs"),
    ],
)
def test_a_library_that_is_in_no_extra_is_put_beside_us(
    monkeypatch: pytest.MonkeyPatch, prefix: str, command: str
):
    install(monkeypatch, None, prefix)
    assert extra.library("gcsfs") == f"Install it: {command}"


def test_there_is_such_an_extra_and_no_other_command_is_named_anywhere():
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        declared = tomllib.load(file)["project"]["optional-dependencies"]
    assert set(EXTRAS) <= set(declared)
    for folder in ("src", "docs"):
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith((".py", ".md")):
                    with open(os.path.join(place, name), encoding="utf-8") as file:
                        assert "pip install 'postroom" not in file.read(), name
