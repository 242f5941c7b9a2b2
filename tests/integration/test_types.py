"""Typed messages in a room and on the command line: ours, and those users register."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.output import Output
from postroom.errors import InvalidPayload, InvalidSchema, UnknownType
from postroom.payloads import Dispatch, WorkerDone
from postroom.protocol import builtin, registration, registry
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine, is_told_well

DEPLOY = """
[types.deploy]
meaning = "Deploy this version."
direction = "release → operations"
example = { version = "1.2.0" }

[types.deploy.schema]
type = "object"
required = ["version"]
additionalProperties = false
properties.version = { type = "string", description = "which one" }
"""


@pytest.fixture(autouse=True)
def _nothing_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has just begun."""
    monkeypatch.setattr(registry, "_looked", {})


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "builder")
    cli.ok("join", "planner")
    return cli


def configure(home: str, text: str) -> Path:
    path = Path(home) / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installs a package whose entry points register types, given its module's text and what they name."""

    def install(source: str, **points: str) -> None:
        where = tmp_path / "site"
        info = where / "acme_mail-1.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: acme-mail\nVersion: 1\n", encoding="utf-8"
        )
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[postroom.types]\n{lines}", encoding="utf-8")
        (where / "acme_mail.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(str(where))
        monkeypatch.delitem(sys.modules, "acme_mail", raising=False)

    return install


RELEASE = """
from dataclasses import dataclass
from typing import Annotated
from postroom.payloads import payload_type

@payload_type("release", direction="ci → operations", meaning="A release is out.", example={"version": "2"})
@dataclass(frozen=True, kw_only=True)
class Release:
    version: Annotated[str, "which one"]

TABLE = {"meaning": "A cat.", "schema": {"type": "object"}}
"""


# in a room


@pytest.mark.promise("types")
@pytest.mark.promise("atomic")
def test_what_does_not_fit_its_type_is_not_stored(room: LocalRoom):
    before = room.store.look().last_cursor()
    for type, payload in (("dispatch", {}), ("dispatch", {"task_id": "T-1", "x": 1}), ("nonsense", None)):
        with pytest.raises((InvalidPayload, UnknownType)):
            room.send("builder", "hello", type=type, payload=payload, sender="newcomer")
    assert room.store.look().last_cursor() == before, "not even the sender's address"


def test_an_answer_that_does_not_fit_acknowledges_nothing(room: LocalRoom):
    sent = room.send("builder", "hello")
    with pytest.raises(InvalidPayload):
        room.reply(sent.id, "done", agent="builder", type="worker_done")
    assert room.receipts(sent.id).deliveries[0].state == "stored"
    with pytest.raises(Exception, match="a broadcast goes to @all"):
        room.reply(sent.id, "done", agent="builder", type="broadcast")
    answer = room.reply(sent.id, "done", agent="builder", type="worker_done", payload={"taskId": "T-1"})
    assert answer.message.payload_as(WorkerDone).task_id == "T-1"
    assert (answer.message.to, answer.message.reply_to) == ("planner", sent.id)


def test_mail_is_read_as_the_class_of_its_type(room: LocalRoom):
    room.send("builder", "go", type="dispatch", payload={"taskId": "T-1", "fileScope": ["src/"]})
    mail = room.take("builder")
    assert mail is not None
    assert mail.payload_as(Dispatch) == Dispatch(task_id="T-1", file_scope=("src/",))
    assert mail.message.payload_as(Dispatch) == mail.payload_as(Dispatch)
    with pytest.raises(InvalidPayload):
        mail.payload_as(WorkerDone)


def test_a_broadcast_is_addressed_to_all(room: LocalRoom):
    room.join("reviewer")
    sent = room.send("*", "hello", type="broadcast")
    assert (sent.message.to, sent.message.type) == ("@all", "note")
    assert sorted(d.recipient for d in sent.deliveries) == ["builder", "reviewer"]


def test_a_key_finds_its_message_whichever_spelling_it_was_sent_in(room: LocalRoom):
    first = room.send("builder", "go", type="dispatch", payload={"task_id": "T-1"}, key="k")
    again = room.send("builder", "go", type="dispatch", payload={"taskId": "T-1"}, key="k")
    assert again.duplicate
    assert again.id == first.id


# registered in the config


@pytest.mark.promise("own-types")
def test_a_type_of_the_config_is_held_like_ours(room: LocalRoom, home: str):
    with pytest.raises(UnknownType):
        room.send("builder", "go", type="deploy", payload={"version": "1"})
    configure(home, DEPLOY)
    sent = room.send("builder", "go", type="deploy", payload={"version": "1"})
    assert sent.message.type == "deploy"
    answer = room.reply(sent.id, "again", agent="builder", type="deploy", payload={"version": "2"})
    assert answer.message.type == "deploy"
    with pytest.raises(InvalidPayload) as refusal:
        room.send("builder", "go", type="deploy", payload={"Version": "1"})
    assert refusal.value.facts["field"] == "payload.Version", "a type of yours is spelled as you spell it"


def test_a_type_beside_settings_leaves_them_alone(home: str, cli: CommandLine):
    configure(home, "max_unproven = 3\n" + DEPLOY)
    assert "max_unproven          3" in cli.ok("help", "settings").out
    cli.ok("send", "builder", "go", "--as", "planner", "--type", "deploy", "--payload", '{"version": "1"}')


def test_what_was_compiled_serves_until_the_config_changes(home: str, monkeypatch: pytest.MonkeyPatch):
    path = configure(home, DEPLOY)
    assert registry.find("deploy", home)["meaning"] == "Deploy this version."
    with monkeypatch.context() as patch:
        patch.setattr(registration, "refresh", lambda home: pytest.fail("it was read again"))
        assert registry.find("deploy", home)["origin"] == "config"
    path.write_text(DEPLOY.replace("this version", "it"), encoding="utf-8")
    assert registry.find("deploy", home)["meaning"] == "Deploy it."
    with pytest.raises(UnknownType):
        registry.find("nonsense", home)
    path.unlink()
    with pytest.raises(UnknownType):
        registry.find("deploy", home)


def test_a_schema_in_a_file_is_read_again_when_the_file_changes(home: str):
    configure(home, '[types.deploy]\nmeaning = "Deploy."\nschema = "deploy.json"\n')
    file = Path(home) / "deploy.json"
    with pytest.raises(InvalidSchema, match=r"deploy\.json"):
        registry.find("deploy", home)
    for required in (["version"], ["version", "place"]):
        file.write_text(json.dumps({"type": "object", "required": required}), encoding="utf-8")
        assert registry.find("deploy", home)["schema"]["required"] == required


@pytest.mark.parametrize("garbage", ["", "{", "[]", "{}", '{"format": 0}', '{"format": 1, "made_from": 3}'])
def test_a_damaged_compiled_file_is_made_again(home: str, garbage: str):
    configure(home, DEPLOY)
    Path(registration.compiled_path(home)).write_text(garbage, encoding="utf-8")
    assert registry.find("deploy", home)["name"] == "deploy"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEPLOY.replace('"string"', '"text"'), "schema.properties.version.type must be one or several of"),
        (DEPLOY.replace("description", "pattern"), "'pattern' is not a keyword"),
        (DEPLOY.replace('version = "1.2.0"', "version = 1"), "example.version must be a string"),
        (DEPLOY.replace("direction", "from"), "there is no key 'from'"),
        (DEPLOY.replace('"Deploy this version."', "3"), "meaning must be one line of text"),
        (DEPLOY.replace('meaning = "Deploy this version."', ""), "meaning must be one line of text"),
        ('[types.deploy]\nmeaning = "x"\n', "schema must be an object"),
        ('[types]\ndeploy = "x"\n', "it must be a table"),
        ('[types.deploy]\nmeaning = "x"\nexample = 1979-05-27\nschema.type = "object"\n', "JSON"),
    ],
)
@pytest.mark.promise("own-types")
def test_a_type_that_cannot_be_held_is_refused_and_says_why(cli: CommandLine, text: str, said: str):
    configure(cli.home, text)
    sent = cli(
        "send", "builder", "go", "--as", "planner", "--type", "deploy", "--payload", '{"version": "1"}'
    )
    assert sent.code == 2
    assert said in sent.err
    assert is_told_well(sent)
    assert said in cli.ok("types").err, "the others can still be listed"
    refreshed = cli("types", "--refresh")
    assert refreshed.code == 2
    assert said in refreshed.err
    cli.ok("send", "builder", "go", "--as", "planner", "--type", "status")


@pytest.mark.parametrize("name", ["note", "dispatch", "broadcast", "Deploy", '"two words"', '"../x"'])
def test_a_name_that_is_ours_or_no_name_cannot_be_registered(home: str, name: str):
    configure(home, DEPLOY.replace("types.deploy", f"types.{name}"))
    found = registration.refresh(home)
    assert found.types == {}
    assert list(found.problems) == [name.strip('"')]


def test_a_config_that_is_no_toml_is_told_by_its_path(home: str, cli: CommandLine):
    configure(home, "[types")
    assert "config.toml" in cli("types").err
    configure(home, "types = 3")
    assert "it must be a table" in cli.ok("types").err


# registered by packages


@pytest.mark.promise("own-types")
def test_a_package_registers_types_by_entry_points(home: str, room: LocalRoom, package: Any):
    package(RELEASE, release="acme_mail:Release", cat="acme_mail:TABLE")
    assert room.send("builder", "out", type="release", payload={"version": "2"}).message.type == "release"
    assert room.send("builder", "meow", type="cat").message.type == "cat"
    with pytest.raises(InvalidPayload, match=r"payload\.version"):
        room.send("builder", "out", type="release")
    assert registry.find("release", home)["origin"] == "package"


def test_packages_are_looked_through_once_and_not_by_a_send_of_what_is_known(
    home: str, package: Any, monkeypatch: pytest.MonkeyPatch
):
    package(RELEASE, release="acme_mail:Release")
    registry.find("release", home)
    monkeypatch.setattr(registration, "_from_packages", lambda: pytest.fail("packages were looked through"))
    registry.find("release", home)
    registry.find("dispatch", home)
    with pytest.raises(UnknownType):
        registry.find("nonsense", home)


def test_a_refresh_finds_what_a_package_has_changed(cli: CommandLine, package: Any):
    package(RELEASE, release="acme_mail:Release")
    assert "A release is out." in cli.ok("types", "--refresh").out
    package(RELEASE.replace("is out", "is near"), release="acme_mail:Release")
    assert "A release is out." in cli.ok("types").out
    assert "A release is near." in cli.ok("types", "--refresh").out
    assert "A release is near." in cli.ok("types").out


def test_a_package_that_cannot_be_loaded_stops_nobody(cli: CommandLine, package: Any):
    package("raise RuntimeError('broken')", release="acme_mail:Release", other="acme_mail:Other")
    assert "RuntimeError: broken" in cli("types", "--refresh").err
    assert "RuntimeError: broken" in cli.ok("types", "--json").json["problems"]["release"]
    assert "broken" in cli("send", "builder", "x", "--as", "planner", "--type", "release").err
    cli.ok("send", "builder", "x", "--as", "planner", "--type", "status")


def test_a_class_must_be_declared_under_the_name_of_its_entry_point(home: str, package: Any):
    package(RELEASE, other="acme_mail:Release", number="acme_mail:__name__")
    problems = registration.refresh(home).problems
    assert "declared as 'release'" in problems["other"]
    assert "must be a table" in problems["number"]


def test_a_broken_type_is_told_as_broken_even_after_a_look_for_another(home: str):
    with pytest.raises(UnknownType):
        registry.find("nonsense", home)
    configure(home, "[types.deploy]\n")
    with pytest.raises(InvalidSchema, match="meaning must be"):
        registry.find("deploy", home)


def test_a_class_with_templates_cannot_be_registered(home: str, package: Any):
    package(
        RELEASE.replace("direction=", "templates=(Template('a', 'b', ()),), direction=").replace(
            "postroom.payloads import", "postroom.model.payload import Template,"
        ),
        release="acme_mail:Release",
    )
    assert "templates" in registration.refresh(home).problems["release"]


def test_the_config_has_the_last_word(home: str, package: Any):
    package(RELEASE, deploy="acme_mail:TABLE")
    assert registry.find("deploy", home)["meaning"] == "A cat."
    configure(home, DEPLOY)
    assert registry.find("deploy", home)["meaning"] == "Deploy this version."


def test_nothing_is_written_where_nobody_registers_anything(home: str, room: LocalRoom):
    with pytest.raises(UnknownType):
        room.send("builder", "x", type="nonsense")
    assert not os.path.exists(registration.compiled_path(home))


# on the command line


def test_types_are_listed_in_groups(cli: CommandLine):
    configure(cli.home, DEPLOY)
    text = cli.ok("types").out
    assert all(f"  {name} " in text for name in builtin.names())
    assert [line for line in text.splitlines() if line and line[0] != " "][:-1] == [
        "Work", "Talk", "People", "Runtime", "Continuity", "Reactions", "Yours",
    ]  # fmt: skip
    assert "custom is a note" in text
    found = cli.ok("types", "--json").json
    assert [one["name"] for one in found["types"]] == [*(n for n in _in_order(found)), "deploy"]
    assert set(found["aliases"]) == {"custom", "broadcast"}
    assert found["problems"] == {}
    assert len(cli.ok("types", "--quiet").out.splitlines()) == len(found["types"])


def _in_order(found: dict[str, Any]) -> list[str]:
    ours = [one for one in found["types"] if one["origin"] == "postroom"]
    return [one["name"] for one in sorted(ours, key=lambda o: (builtin.GROUPS.index(o["group"]), o["name"]))]


@pytest.mark.promise("types")
@pytest.mark.parametrize("name", builtin.names())
def test_the_command_that_types_show_prints_sends_the_example(cli: CommandLine, name: str):
    found = cli.ok("types", "show", name, "--json").json
    text = cli.ok("types", "show", name).out
    assert found["command"] in text
    assert found["meaning"] in text
    assert '"type": "object"' in text
    import shlex

    cli.ok(*shlex.split(found["command"])[1:], "--as", "planner")
    message = cli.ok("read", "--as", "builder", "--json").json
    assert (message["type"], message["payload"]) == (name, found["example"])


def test_a_type_without_an_example_has_no_command_to_show(cli: CommandLine):
    configure(cli.home, '[types.cat]\nmeaning = "A cat."\nschema.type = "object"\n')
    assert cli.ok("types", "show", "cat", "--json").json["command"] is None
    assert "and any others" in cli.ok("types", "show", "cat").out


def test_the_templates_of_a_handoff_are_shown_with_what_they_need(cli: CommandLine):
    text = cli.ok("types", "show", "handoff").out
    assert "qa_fail     needs must_pass, evidence" in text


def test_what_a_stranger_wrote_about_a_type_is_harmless(cli: CommandLine):
    configure(cli.home, DEPLOY.replace("Deploy this", "\\u001b[2JDeploy").replace("which one", "\\u202eone"))
    for call in (["types"], ["types", "show", "deploy"]):
        assert not [c for c in cli.ok(*call).out if c in "\x1b\u202e"]


def test_what_is_shown_of_a_type_has_colours_where_they_are_wanted(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        Output, "paint", lambda self, text, *styles: f"\x1b[1m{text}\x1b[0m" if styles else text
    )
    assert cli.ok("types", "show", "dispatch").out.startswith("\x1b[1mdispatch\x1b[0m  coordinator")


def test_other_names_are_shown_for_what_they_are(cli: CommandLine):
    assert "payload.text" in cli.ok("types", "show", "custom").out
    assert cli.ok("types", "show", "broadcast", "--json").json["alias_of"] == "note"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["types", "show"], "types show needs TYPE"),
        (["types", "list", "dispatch"], "too many arguments: dispatch"),
        (["types", "show", "dispach"], "Did you mean dispatch"),
        (["types", "burn"], "types takes list or show, not 'burn'"),
        (["send", "builder", "x", "--type", "dispach"], "Did you mean dispatch"),
        (
            ["send", "builder", "x", "--type", "dispatch", "--payload", '{"task_ids": 1}'],
            "did you mean task_id?",
        ),
    ],
)
def test_wrong_types_are_told_in_one_line_with_a_hint(cli: CommandLine, call: list[str], said: str):
    result = cli(*call, "--as", "planner")
    assert result.code == 2
    assert said in result.err
    assert is_told_well(result)


def test_a_refused_payload_in_json_names_type_and_field(cli: CommandLine):
    error = cli("send", "builder", "--type", "dispatch", "--payload", "{}", "--as", "planner", "--json").error
    assert (error["error"], error["type"], error["field"]) == (
        "invalid_payload",
        "dispatch",
        "payload.task_id",
    )
    assert error["expected"] == "a string"


def test_types_need_no_room(home: str):
    assert CommandLine(home).ok("types", "--quiet").out
    assert not os.path.exists(home)


def test_completion_knows_the_types(cli: CommandLine):
    configure(cli.home, DEPLOY)
    names = cli.ok("completion", "--list", "types").out.split()
    assert {"dispatch", "deploy"} < set(names)
    for shell in ("bash", "zsh", "fish"):
        assert "types" in cli.ok("completion", shell).out
