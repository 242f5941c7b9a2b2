"""Settings, where a room lives, and which project a directory belongs to."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from postroom import config
from postroom.config import HELP, Settings
from postroom.errors import InvalidValue


def write(home: Path, text: str) -> Path:
    home.mkdir(exist_ok=True)
    path = home / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


# settings


@pytest.fixture(autouse=True)
def _usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what is set for all other tests."""
    monkeypatch.delenv("POSTROOM_SENDER_RATE")
    monkeypatch.delenv("POSTROOM_RESERVE_BYTES")
    monkeypatch.delenv("POSTROOM_HTTP_PORT")


def test_without_a_file_and_without_variables_the_defaults_hold(tmp_path: Path):
    assert config.settings(str(tmp_path)) == Settings()


def test_every_setting_is_explained():
    assert set(HELP) == set(Settings._fields)


def test_the_file_overrides_defaults_and_the_environment_overrides_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path, 'durability = "full"\nlease_seconds = 3\nmax_unproven = 2\n')
    monkeypatch.setenv("POSTROOM_LEASE_SECONDS", "7.5")
    found = config.settings(str(tmp_path))
    assert found == Settings(durability="full", lease_seconds=7.5, max_unproven=2)


@pytest.mark.parametrize("key", Settings._fields)
def test_every_setting_can_come_from_the_environment(
    key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    text = config._CHOICES.get(key, ("42",))[-1]
    monkeypatch.setenv(config.environment_name(key), text)
    found = getattr(config.settings(str(tmp_path)), key)
    assert found == type(Settings._field_defaults[key])(text)
    assert type(found) is type(Settings._field_defaults[key])


def test_the_file_is_compiled_once_and_read_as_json_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path, "max_unproven = 3\n")
    assert config.settings(str(tmp_path)).max_unproven == 3
    monkeypatch.setattr(config, "_compile", lambda *_: pytest.fail("TOML was read again"))
    assert config.settings(str(tmp_path)).max_unproven == 3


def test_an_empty_file_changes_nothing(tmp_path: Path):
    write(tmp_path, "# nothing yet\n")
    assert config.settings(str(tmp_path)) == config.settings(str(tmp_path)) == Settings()


def test_a_changed_file_is_compiled_again(tmp_path: Path):
    path = write(tmp_path, "max_unproven = 3\n")
    assert config.settings(str(tmp_path)).max_unproven == 3
    path.write_text("max_unproven = 4\n", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert config.settings(str(tmp_path)).max_unproven == 4


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        "{}",
        '{"stamp": STAMP}',
        '{"stamp": STAMP, "settings": [1]}',
        '{"stamp": STAMP, "settings": {"of_a_newer_version": 1}}',
        '{"stamp": STAMP, "settings": {"max_unproven": "x"}}',
    ],
)
def test_a_damaged_compiled_file_is_made_again(tmp_path: Path, garbage: str):
    path = write(tmp_path, "max_unproven = 3\n")
    about = path.stat()
    stamp = json.dumps([about.st_mtime_ns, about.st_size])
    (tmp_path / "config.compiled.json").write_text(garbage.replace("STAMP", stamp), encoding="utf-8")
    assert config.settings(str(tmp_path)).max_unproven == 3


def test_a_config_directory_that_cannot_be_written_only_costs_time(tmp_path: Path):
    write(tmp_path, "max_unproven = 3\n")
    (tmp_path / "config.compiled.json").mkdir()  # so that it cannot be replaced, not even by root
    assert config.settings(str(tmp_path)).max_unproven == 3
    assert sorted(os.listdir(tmp_path)) == ["config.compiled.json", "config.toml"]


@pytest.mark.parametrize(
    "text",
    [
        "max_unproven = ",
        "max_unproven = 0",
        "max_unproven = -1",
        "lease_seconds = nan",
        "lease_seconds = inf",
        'lease_seconds = "soon"',
        "lease_seconds = []",
        "lease_seconds = {}",
        'durability = "maximal"',
        "durability = 1",
        "durability = []",
        f"max_unproven = 1{'0' * 400}",
        f"lease_seconds = 1{'0' * 400}",
        "no_such_setting = 1",
        "[section]\nx = 1",
        "max_body_bytes = 0",
        "sweep_seconds = 0",
        "\x00",
    ],
)
def test_a_wrong_setting_is_refused_and_named(tmp_path: Path, text: str):
    write(tmp_path, text)
    with pytest.raises(InvalidValue) as refusal:
        config.settings(str(tmp_path))
    key = text.split(maxsplit=1)[0] if "=" in text else "config.toml"
    assert key in str(refusal.value) or "config.toml" in str(refusal.value)


def test_all_that_is_wrong_with_a_file_is_told_at_once(tmp_path: Path):
    (tmp_path / "config.toml").write_text(
        "lease_secnds = 3\nhttp_port = 'x'\nroute = 7\nmax_hop = 1\n", "utf-8"
    )
    with pytest.raises(InvalidValue) as caught:
        config.settings(str(tmp_path))
    assert caught.value.facts["problems"] == [
        "there is no setting 'lease_secnds'",
        "http_port must be a whole number, not 'x'",
        "route is written as [[route]]",
        "there is no setting 'max_hop'",
    ]
    assert all(one in str(caught.value) for one in caught.value.facts["problems"])
    assert "lease_seconds" in caught.value.hint
    assert "max_hops" in caught.value.hint
    assert caught.value.hint.count("postroom help settings") == 1


def test_a_setting_that_is_none_is_told_with_those_that_may_be_meant(tmp_path: Path):
    write(tmp_path, "lease_secnds = 3")
    with pytest.raises(InvalidValue) as caught:
        config.settings(str(tmp_path))
    assert caught.value.facts["key"] == "lease_secnds"
    assert caught.value.facts["near"][0] == "lease_seconds"
    assert caught.value.hint.startswith("Did you mean lease_seconds, ")
    assert caught.value.hint.endswith("? See them all: postroom help settings")


def test_a_config_that_is_not_utf8_is_refused(tmp_path: Path):
    write(tmp_path, "").write_bytes(b'durability = "\xff"')
    with pytest.raises(InvalidValue):
        config.settings(str(tmp_path))


@pytest.mark.parametrize("text", ["", "0", "-3", "many", "1e999", "nan", "9" * 400])
def test_a_wrong_variable_is_refused_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("POSTROOM_MAX_UNPROVEN", text)
    with pytest.raises(InvalidValue, match="max_unproven"):
        config.settings(str(tmp_path))


# where a room lives


def test_an_explicit_home_goes_before_the_variable_and_that_before_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert config.home() == config.default_home()
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "variable"))
    assert config.home() == str(tmp_path / "variable")
    assert config.home(str(tmp_path / "explicit")) == str(tmp_path / "explicit")


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert config.home("here") == str(tmp_path / "here")


def test_the_default_home_has_its_config_where_the_platform_keeps_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(config.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/xdg-of-mine")
    assert config.config_path(config.default_home()) == "/etc/xdg-of-mine/postroom/config.toml"
    assert config.config_path("/other") == "/other/config.toml"
    monkeypatch.setenv("POSTROOM_HOME", config.default_home())
    assert config.config_path(config.default_home()) == os.path.join(config.default_home(), "config.toml")


@pytest.mark.parametrize(
    ("platform", "ending"),
    [("linux", ".local/share/postroom"), ("darwin", "Library/Application Support/postroom")],
)
def test_the_default_home_follows_the_platform(platform: str, ending: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(config.sys, "platform", platform)
    assert config.default_home().endswith(ending)


# projects


def git(*arguments: str, cwd: Path) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@t",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@t",
    }
    subprocess.run(["git", *arguments], cwd=cwd, env=environment, check=True, capture_output=True, timeout=60)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    where = tmp_path / "Shop Front"
    where.mkdir()
    git("init", "-q", "-b", "main", cwd=where)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=where)
    return where


@pytest.mark.promise("project")
def test_all_worktrees_of_a_repository_are_one_project(repository: Path, tmp_path: Path):
    git("worktree", "add", "-q", str(tmp_path / "far away"), "-b", "side", cwd=repository)
    (tmp_path / "far away" / "deep").mkdir()
    roots = {
        config.project_root(str(where))
        for where in (repository, tmp_path / "far away", tmp_path / "far away" / "deep", repository / ".git")
    }
    assert roots == {os.path.realpath(repository)}
    assert config.slug(str(repository)) == "shop-front"


def test_worktrees_of_a_bare_repository_are_one_project(repository: Path, tmp_path: Path):
    git("clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"), cwd=tmp_path)
    for name in ("one", "two"):
        git("worktree", "add", "-q", str(tmp_path / name), "-b", name, cwd=tmp_path / "bare.git")
    assert {config.project_root(str(tmp_path / name)) for name in ("one", "two")} == {
        str(tmp_path / "bare.git")
    }


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path):
    library = tmp_path / "library"
    library.mkdir()
    git("init", "-q", "-b", "main", cwd=library)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=library)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendor", cwd=repository)
    assert config.project_root(str(repository / "vendor")) == os.path.realpath(repository / "vendor")
    assert config.project_root(str(repository)) == os.path.realpath(repository)


def test_a_worktree_whose_repository_is_gone_is_a_project_by_itself(tmp_path: Path):
    orphan = tmp_path / "orphan"
    orphan.mkdir()
    (orphan / ".git").write_text("gitdir: /nowhere/.git/worktrees/orphan\n", encoding="utf-8")
    assert config.project_root(str(orphan)) == os.path.realpath(orphan)


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"gitdir:", b"nonsense\n" * 1000])
def test_a_damaged_git_file_is_no_obstacle(tmp_path: Path, text: bytes):
    (tmp_path / ".git").write_bytes(text)
    assert config.project_root(str(tmp_path)) == os.path.realpath(tmp_path)


def test_an_empty_directory_of_that_name_is_no_repository(tmp_path: Path):
    """Bubblewrap makes one in each directory that a sandboxed agent may write, and leaves it there."""
    (tmp_path / ".git").mkdir()
    assert config.project_root(str(tmp_path)) == ""
    assert config.worktree(str(tmp_path)) == (os.path.realpath(tmp_path), "")


def test_outside_any_repository_there_is_no_project_root(tmp_path: Path):
    assert config.project_root(str(tmp_path)) == ""


def test_a_directory_that_was_removed_has_no_project_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert config.project_root() == ""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("/x/Shop", "shop"),
        ("/x/my.app", "my-app"),
        ("/x/--", "project"),
        ("/x/été", "t"),
        ("/x/日本", "project"),
        ("/", "project"),
        ("/x/" + "a" * 200, "a" * 48),
        ("/x/" + "a" * 47 + "-b", "a" * 47 + "-"),
    ],
)
def test_a_projects_name_is_a_valid_name_made_from_its_directory(directory: str, name: str):
    from postroom.model import address

    assert config.slug(directory) == name
    assert address.name(name) == name
