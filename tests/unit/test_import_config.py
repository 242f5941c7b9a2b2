"""Configs of other tools: what is read of them, what is refused, and what is left out by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.bridges.files import naming
from postroom.config import Settings
from postroom.errors import InvalidValue, NameTaken, NotFound, PostroomError
from postroom.imports import document, recognition
from postroom.imports.plan import Agents, Kind
from postroom.room import declared
from tests.process import ROOT

SAMPLES = Path(ROOT, "tests", "data", "imports")


def planned(path: Path | str, kind: str = "", **renamed: str) -> Agents:
    found = recognition.plan(str(path), kind, Settings(), "", renamed)
    assert isinstance(found, Agents)
    return found


def written(tmp_path: Path, text: str | bytes, name: str = "config.yaml") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(act: Callable[[], object]) -> PostroomError | None:
    """What an act is refused with; anything else that is raised is a failure of the test."""
    try:
        act()
    except PostroomError as exc:
        return exc
    return None


def test_agents_by_their_names_become_tables():
    found = planned(SAMPLES / "agentcomms.yaml")
    assert found.kind is Kind.AGENTCOMMS
    assert found.names == {"API": "api", "Front End": "front-end"}
    assert found.tables == {
        "api": {"bridge": "tmux", "session": "crew", "pane": "crew:2.0", "channel": "discord:api-talk"},
        "front-end": {"bridge": "tmux", "session": "crew", "pane": "crew:0.1"},
        "ops": {"bridge": "lines", "command": ["./ops-bot", "--watch", "deploys"]},
        "pilot": {
            "bridge": "pty", "command": ["claude", "--permission-mode", "plan"],
            "channel": "discord:pilot-talk",
        },
    }  # fmt: skip
    assert [one.what for one in found.left] == ["agents.radio", "discord", "log_level"]
    declared.check(found.tables)


def test_agents_in_a_list_get_the_channels_that_stand_apart():
    found = planned(SAMPLES / "agentcomms-listed.yaml")
    assert found.tables["scout"] == {
        "bridge": "tmux", "session": "scouting", "pane": "scouting:1.10", "channel": "telegram:5501",
    }  # fmt: skip
    assert found.tables["mapper"]["pane"] == "mapping:0.0"
    assert "channel telegram:5502" in [one.what for one in found.left]


def test_a_config_in_json_is_read_as_one_in_yaml():
    found = planned(SAMPLES / "agentcomms.json")
    assert list(found.tables) == ["herald"]
    assert found.tables["herald"]["channel"] == "slack:C77"
    assert [one.what for one in found.left] == ["server", "chat"]


def test_each_project_of_an_orchestrator_has_one_agent_and_all_else_is_named():
    found = planned(SAMPLES / "agent-orchestrator.yaml")
    assert found.tables["bakery-site/orchestrator"] == {
        "role": "orchestrator", "directory": "~/code/bakery-site", "runtime": "claude", "bridge": "tmux",
        "command": ["claude", "--model", "opus"],
    }  # fmt: skip
    assert found.tables["mill/orchestrator"]["bridge"] == "pty"
    assert "command" not in found.tables["oven/orchestrator"]
    left = {one.what: one.why for one in found.left}
    assert "postroom send NAME --type fix_ci_failure" in left["reactions.ci-failed"]
    assert "postroom adopt --match 'bk-'" in left["sessions bk-1, bk-2, …"]
    assert {
        "projects.bakery.agentConfig.permissions", "projects.bakery.agentRules", "notifiers", "dataDir",
        "projects.bakery.reactions.approved-and-green", "projects.oven: agent hand-made",
        "projects.yard: runtime kubernetes", "defaults.workspace", "port",
    } <= left.keys()  # fmt: skip
    declared.check(found.tables)


def test_a_directory_is_searched_for_a_config_by_its_usual_name(tmp_path: Path):
    written(tmp_path, "agents: {a: {type: tmux, session: s}}", "config.yml")
    assert list(planned(tmp_path).tables) == ["a"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InvalidValue, match="can be imported"):
        planned(empty)


HOSTILE = {
    "tags": ("agents: !!python/object/apply:os.system ['id']", "tag"),
    "own tags": ("agents: {a: !secret x}", "tag"),
    "bombs": (
        "0: &0 [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{n}: &{n} [{','.join([f'*{n - 1}'] * 9)}]\n" for n in range(1, 9)),
        "far more",
    ),
    "circles": ("agents: &a {a: *a}", "nested too deep"),
    "depth": ("agents: " + "[" * 4000, "too deep"),
    "twice": ("agents: {a: {type: tmux, session: x}, a: {type: tmux, session: y}}", "twice"),
    "size": ("#" * (document.LARGEST + 1), "too large"),
    "encoding": (b"agents: \xff\xfe\xfd", "UTF-8"),
    "a character that there is not": (r'agents: {a: "\UFFFFFFFF"}', "no YAML"),
    "a character after the last": (r'agents: {a: "\U00110000"}', "no YAML"),
    "nothing": ("", "no names"),
    "a list": ("[1, 2]", "no names"),
    "half": ("agents: {a: [", "no YAML"),
    "names of objects": ("agents: {{a: b}: c}", "no text"),
    "no agents": ("agents: [1, 2]", "no agent"),
    "no command": ("agents: {a: {type: process, command: {x: y}}}", "list of words"),
    "half a command": ("agents: {a: {type: process, command: \"say 'hi\"}}", "cannot be read"),
    "no name": ("agents: {'': {type: tmux}}", "no agent"),
    "a name of nothing": ("agents: {'…': {type: tmux, session: s}}", "cannot be made an address"),
    "the room itself": ("agents: {postroom: {type: tmux, session: s}}", "cannot be made an address"),
    "another file": ("services: {web: {image: nginx}}", "not known"),
    "no projects": ("projects: {a: 1}", "no project"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_such_config_is_refused_in_one_line(tmp_path: Path, name: str):
    text, why = HOSTILE[name]
    with pytest.raises(PostroomError, match=why) as refused:
        planned(written(tmp_path, text))
    assert "\n" not in str(refused.value)
    assert refused.value.hint


def test_what_is_no_file_is_refused(tmp_path: Path):
    with pytest.raises(NotFound):
        planned(tmp_path / "gone.yaml")
    with pytest.raises(InvalidValue, match="neither a file nor a directory"):
        planned("/dev/null")


def test_merged_keys_are_merged_and_what_stands_there_wins(tmp_path: Path):
    path = written(tmp_path, "x: &x {type: tmux, session: a, pane: 7}\nagents: {b: {<<: *x, session: c}}")
    assert planned(path).tables["b"] == {"bridge": "tmux", "session": "c", "pane": "c:7.0"}


def test_two_that_would_have_one_address_are_refused_until_one_is_renamed(tmp_path: Path):
    path = written(
        tmp_path, "agents: {Front End: {type: tmux, session: a}, front-end: {type: tmux, session: b}}"
    )
    with pytest.raises(NameTaken, match="would both be front-end") as refused:
        planned(path)
    assert "--rename" in refused.value.hint
    assert list(planned(path, **{"Front End": "ui"}).tables) == ["ui", "front-end"]


@pytest.mark.parametrize("given", ["x", "=x", "x=", "x=No Name", "x=@all"])
def test_a_new_name_must_be_one(given: str):
    with pytest.raises(InvalidValue, match="OLD=NEW"):
        naming.renames([given])


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
WORDS = st.sampled_from(
    ["agents", "projects", "type", "tmux", "process", "session", "pane", "command", "channel", "config",
     "chat", "channels", "agent_id", "channel_id", "id", "path", "agent", "runtime", "reactions", "defaults"]
)  # fmt: skip
CONFIGS = st.dictionaries(
    WORDS,
    st.recursive(
        SCALARS | WORDS,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=5)
        ),
        max_leaves=20,
    ),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CONFIGS)
def test_any_config_is_planned_or_refused_and_what_is_planned_can_be_declared(tmp_path: Path, config: Any):
    import yaml

    path = written(tmp_path, yaml.safe_dump(config, allow_unicode=True))
    refused = refusal(lambda: declared.check(planned(path).tables))
    assert refused is None or (refused.hint and "\n" not in str(refused))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes):
    refused = refusal(lambda: document.read(str(written(tmp_path, data))))
    assert refused is None or (refused.hint and "\n" not in str(refused))


@given(st.lists(st.text(max_size=12), unique=True), st.lists(st.text(max_size=12)))
def test_no_two_owners_are_ever_called_the_same(owners: list[str], mentioned: list[str]):
    refused = refusal(lambda: naming.addresses(owners, mentioned, {}))
    if refused is not None:
        assert "--rename" in refused.hint
        return
    found = naming.addresses(owners, mentioned, {})
    assert len({found[owner] for owner in owners}) == len(owners)
    assert all(naming.address(new, {}) == new for new in found.values())
