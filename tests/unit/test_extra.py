"""Where a library is missing, the command that is named installs it as this Postroom was installed."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import shlex
import sys
import tomllib
from typing import Any

import pytest

from postroom import extra
from postroom.errors import InvalidValue
from tests.process import ROOT

EXTRAS = ("codex", "pty", "acp", "import", "remote", "otel", "openai-sdk", "claude-sdk")  # that hints name


REQUIRES = [
    'websockets>=15; extra == "codex"', 'fsspec>=2025.3 ; extra == "remote"', "s3fs; extra == 'remote'",
    'pyte>=0.8.2; python_version > "3" and extra == "pty"',
]  # fmt: skip


class Installed:
    """Of a distribution only what tells where it came from, and what its extras need."""

    requires = REQUIRES

    def __init__(self, origin: dict[str, Any] | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return json.dumps(self._origin) if self._origin else None


def install(
    monkeypatch: pytest.MonkeyPatch, url: str | None, prefix: str, *, pip: bool = True, libraries: str = "",
    **origin: Any,
) -> None:  # fmt: skip
    """`origin`: what else `direct_url.json` says (PEP 610); `libraries`: what is installed beside us."""

    def distribution(name: str) -> Installed:
        if name not in ["postroom", *libraries.split()]:
            raise importlib.metadata.PackageNotFoundError(name)
        return Installed({"url": url, **origin} if url else None)

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
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


@pytest.mark.parametrize(
    ("revision", "end"), [({}, ""), ({"requested_revision": "v1.2"}, "@v1.2"), ({"commit_id": "8fe7202"}, "")]
)
def test_what_came_from_a_repository_is_named_so(
    monkeypatch: pytest.MonkeyPatch, revision: dict[str, str], end: str
):
    """Its address alone, as PEP 610 has it, would be taken for that of an archive."""
    install(monkeypatch, "https://example.org/postroom", "/venv", vcs_info={"vcs": "git", **revision})
    assert extra.hint("pty").endswith(f"install 'postroom[pty] @ git+https://example.org/postroom{end}'")


def test_what_came_from_an_archive_is_named_so(monkeypatch: pytest.MonkeyPatch):
    install(monkeypatch, "https://example.org/postroom.whl", "/venv", archive_info={})
    assert extra.hint("pty").endswith("install 'postroom[pty] @ https://example.org/postroom.whl'")


def test_a_clone_in_which_somebody_works_stays_the_one_that_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
):
    install(monkeypatch, f"file://{os.fspath(tmp_path)}", "/venv", dir_info={"editable": True})
    assert extra.hint("pty").endswith(f"pip install -e '{os.fspath(tmp_path)}[pty]'")


@pytest.mark.parametrize("prefix", ["/x/uv/tools/postroom", "/x/pipx/venvs/postroom"])
def test_extras_that_are_there_are_still_there_when_an_environment_was_made_anew(
    monkeypatch: pytest.MonkeyPatch, prefix: str
):
    install(monkeypatch, None, prefix, libraries="websockets fsspec pyte")
    assert extra.hint("acp").endswith(" install --force 'postroom[acp,codex,pty]'")


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


@pytest.mark.parametrize(
    ("module", "library", "name"),
    [("openai", "agents", "openai-sdk"), ("claude", "claude_agent_sdk", "claude-sdk")],
)
def test_a_mailbox_for_a_library_that_is_not_there_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, library: str, name: str
):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"postroom.sdk.{module}", raising=False)
    with pytest.raises(InvalidValue, match="SDK is not installed") as caught:
        importlib.import_module(f"postroom.sdk.{module}")
    assert caught.value.hint == extra.hint(name)


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
