"""The built-in types: their classes, their files, their examples, and payloads read as objects."""

import dataclasses
import json
import os
from typing import Annotated, Any, Literal

import pytest

from postroom import payloads
from postroom.errors import InvalidPayload, InvalidSchema
from postroom.model.payload import about, read
from postroom.payloads import Dispatch, FixCiFailure, Handoff, HandoffParty, ToolCall, payload_type, rule
from postroom.protocol import admission, builtin, declaration, keyword, registry, schema

CLASSES = [
    one for name in payloads.__all__ if isinstance(one := getattr(payloads, name), type) and about(one)
]

# As the design names them.
BUILT_IN = {
    "work": "dispatch assign worker_done merge_ready merged merge_failed escalation"
    " health_check decision_gate",
    "talk": "status request response discovery coordination note",
    "people": "human_message agent_message voice_transcript interrupt",
    "runtime": "tool_call tool_result system",
    "continuity": "handoff checkpoint",
    "reactions": "fix_ci_failure changes_requested merge_conflict",
}

# As users rely on them.
FIELDS = {
    "dispatch": "task_id spec_path capability file_scope skip_scouts",
    "assign": "task_id spec_path capability file_scope skip_scouts",
    "worker_done": "task_id status summary",
    "fix_ci_failure": "pr check error url",
    "interrupt": "kind",
    "handoff": "from to phase task_ref priority project status files dependencies constraints needed"
    " acceptance references must_pass evidence next_steps",
    "checkpoint": "agent task_id session_id timestamp progress_summary files_modified current_branch"
    " pending_work domains",
}


@pytest.mark.promise("types")
@pytest.mark.parametrize("group", BUILT_IN)
def test_every_type_of_the_design_is_there(group: str):
    for name in BUILT_IN[group].split():
        assert registry.find(name)["group"] == group


def test_there_are_no_files_of_types_that_are_no_more():
    assert builtin.names() == sorted(declaration.definition(cls)["name"] for cls in CLASSES)
    assert {file for file in os.listdir(builtin.HERE) if not file.endswith(".json")} == set()


@pytest.mark.parametrize("name", FIELDS)
def test_the_fields_users_rely_on_are_there(name: str):
    assert set(FIELDS[name].split()) <= set(registry.find(name)["schema"]["properties"])


@pytest.mark.promise("types")
@pytest.mark.parametrize("name", builtin.names())
def test_a_built_in_type_can_be_registered_and_its_example_is_sent_as_it_stands(name: str):
    definition = registry.find(name)
    keyword.register(definition["schema"])
    example = definition["example"]
    assert admission.admit("builder", name, "", example) == ("builder", name, "", example)
    assert definition["meaning"].endswith(".")
    assert "→" in definition["direction"]
    fields = definition["schema"]["properties"].values()
    assert all(field.get("description") for field in fields)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_example_can_be_read_as_its_class(cls: type):
    definition = declaration.definition(cls)
    found = read(cls, definition["example"], definition["name"])
    given = {name.rstrip("_"): getattr(found, name) for name in cls.__dataclass_fields__}
    for name, value in definition["example"].items():
        if name in given and isinstance(value, (str, bool, int)) and not isinstance(given[name], tuple):
            assert given[name] == value


# reading


def test_a_payload_is_read_with_its_defaults():
    found = read(Dispatch, {"task_id": "T-1", "file_scope": ["a"], "of_a_newer_version": 1}, "dispatch")
    assert found == Dispatch(task_id="T-1", file_scope=("a",))
    assert (found.spec_path, found.skip_scouts) == (None, False)


def test_objects_inside_a_payload_are_read_too_and_one_text_stands_for_a_list():
    found = read(Handoff, {"from": {"agent": "a", "department": "d"}, "to": "b", "needed": "this"}, "handoff")
    assert found.from_ == HandoffParty(agent="a", department="d")
    assert (found.to, found.needed, found.template) == ("b", ("this",), "standard")


def test_a_field_may_be_of_two_kinds():
    assert read(FixCiFailure, {"check": "t", "pr": 12}, "fix_ci_failure").pr == 12
    assert read(FixCiFailure, {"check": "t", "pr": "!12"}, "fix_ci_failure").pr == "!12"
    assert read(ToolCall, {"tool": "sh", "arguments": {"a": [1]}}, "tool_call").arguments == {"a": [1]}


def test_a_message_of_another_type_is_not_read_as_this_one():
    with pytest.raises(InvalidPayload, match="of type 'note', and Dispatch is for 'dispatch'"):
        read(Dispatch, {"task_id": "T-1"}, "note")


@pytest.mark.parametrize(
    ("cls", "payload", "field"),
    [
        (Dispatch, None, "payload.task_id"),
        (Dispatch, {"task_id": None}, "payload.task_id"),
        (Dispatch, {"task_id": 3}, "payload.task_id"),
        (Dispatch, {"task_id": "T-1", "file_scope": ["a", 3]}, "payload.file_scope[1]"),
        (Dispatch, {"task_id": "T-1", "max_agents": True}, "payload.max_agents"),
        (Handoff, {"from": {}}, "payload.from.agent"),
        (Handoff, {"template": "other"}, "payload.template"),
    ],
)
def test_what_does_not_fit_a_class_is_told_by_its_path(cls: type, payload: Any, field: str):
    with pytest.raises(InvalidPayload) as refusal:
        read(cls, payload, about(cls).name)  # type: ignore[union-attr]
    assert refusal.value.facts["field"] == field


@dataclasses.dataclass
class Point:
    """A place."""

    x: float
    y: float
    names: list[str] = dataclasses.field(default_factory=list)


def test_any_dataclass_will_do_to_read_with():
    assert read(Point, {"x": 1, "y": 2.5, "names": ["a"]}, "whatever") == Point(1.0, 2.5, ["a"])


# declaring


@payload_type("deploy", direction="a → b", meaning="Deploy.", example={"version": "1"})
@dataclasses.dataclass(frozen=True, kw_only=True)
class Deploy:
    """A version to deploy."""

    version: Annotated[str, rule(minLength=1), "which one", 42]
    kind: Literal["blue", "green"] = "blue"
    where: Point | None = None
    score: float = 0.5
    extra: Any = None


def test_a_schema_is_made_from_a_dataclass():
    point = {
        "title": "Point",
        "description": "A place.",
        "type": "object",
        "properties": {
            "x": {"type": "number"},
            "y": {"type": "number"},
            "names": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["x", "y"],
        "additionalProperties": False,
    }
    assert declaration.definition(Deploy)["schema"] == {
        "title": "Deploy",
        "description": "A version to deploy.",
        "type": "object",
        "properties": {
            "version": {"type": "string", "minLength": 1, "description": "which one"},
            "kind": {"type": "string", "enum": ["blue", "green"], "default": "blue"},
            "where": point,
            "score": {"type": "number", "default": 0.5},
            "extra": {},
        },
        "required": ["version"],
        "additionalProperties": False,
    }
    schema.check({"version": "1", "where": {"x": 1, "y": 2}}, declaration.definition(Deploy)["schema"])


def test_a_class_no_schema_can_be_made_from_is_refused():
    @dataclasses.dataclass
    class Strange:
        when: bytes

    for cls in (Strange, int):
        with pytest.raises(InvalidSchema):
            declaration.schema_of(cls)
    with pytest.raises(InvalidSchema, match="was not declared"):
        declaration.definition(Point)


def test_the_files_are_json_and_nothing_else():
    for name in builtin.names():
        with open(os.path.join(builtin.HERE, f"{name}.json"), encoding="utf-8") as file:
            assert json.load(file)["name"] == name
