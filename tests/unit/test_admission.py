"""What a typed message must be like to be sent: lenient in what is read, exact in what is stored."""

from typing import Any

import pytest

from postroom.config import Settings
from postroom.errors import InvalidBody, InvalidPayload, InvalidValue, UnknownType
from postroom.model.payload import Template
from postroom.protocol.admission import admit
from postroom.protocol.payloads.continuity import TEMPLATES
from postroom.room import draft as drafting
from postroom.room.draft import draft


def admitted(type: str, payload: Any) -> Any:
    return admit("builder", type, "body", payload).payload


def refusal(type: str, payload: Any) -> InvalidPayload:
    with pytest.raises(InvalidPayload) as found:
        admitted(type, payload)
    assert f"postroom types show {type}" in found.value.hint
    assert found.value.facts["type"] == type
    return found.value


@pytest.mark.promise("types")
@pytest.mark.parametrize(
    ("type", "payload", "field"),
    [
        ("dispatch", None, "payload.task_id"),
        ("dispatch", {}, "payload.task_id"),
        ("dispatch", {"task_id": None}, "payload.task_id"),
        ("dispatch", {"task_id": 7}, "payload.task_id"),
        ("dispatch", {"task_id": ""}, "payload.task_id"),
        ("dispatch", {"task_id": "T-1", "file_scope": "src"}, "payload.file_scope"),
        ("dispatch", {"task_id": "T-1", "skip_scouts": "yes"}, "payload.skip_scouts"),
        ("worker_done", {"status": "done"}, "payload.task_id"),
        ("interrupt", {"kind": "explode"}, "payload.kind"),
        ("fix_ci_failure", {"check": "tests", "pr": 1.5}, "payload.pr"),
        ("decision_gate", {"options": []}, "payload.options"),
        ("decision_gate", {"options": ["a"], "deadline": "soon"}, "payload.deadline"),
        ("handoff", {"needed": "x", "from": {"department": "d"}}, "payload.from.agent"),
        ("checkpoint", {"task_id": "T", "progress_summary": "p", "timestamp": "now"}, "payload.timestamp"),
        ("status", {"progress": 101}, "payload.progress"),
        ("dispatch", {1: "one"}, "payload"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_by_its_field(type: str, payload: Any, field: str):
    assert refusal(type, payload).facts["field"] == field


@pytest.mark.promise("types")
def test_a_field_nobody_knows_is_refused_with_those_that_are_near():
    found = refusal("dispatch", {"task_id": "T-1", "spec": "a"})
    assert found.facts["field"] == "payload.spec"
    assert "spec_path" in found.facts["near"]
    assert "--metadata" in found.hint
    assert refusal("handoff", {"to": {"agent": "a", "team": "b"}}).facts["field"] == "payload.to.team"


@pytest.mark.parametrize("type", ["status", "request", "response", "discovery", "coordination", "system"])
def test_talk_takes_any_further_fields(type: str):
    assert admitted(type, {"anything": [1]}) == {"anything": [1]}
    assert admitted(type, None) is None


@pytest.mark.parametrize("type", sorted(drafting._NEED_NOTHING))
def test_what_ask_and_reply_send_needs_no_check_when_it_has_no_payload(type: str):
    assert admitted(type, None) is None


# what is lenient


def test_keys_in_camel_case_are_stored_in_our_spelling():
    given = {"taskId": "T-1", "specPath": "s", "fileScope": ["a"], "skipScouts": True}
    ours = {"task_id": "T-1", "spec_path": "s", "file_scope": ["a"], "skip_scouts": True}
    assert admitted("dispatch", given) == ours
    assert given.keys() == {"taskId", "specPath", "fileScope", "skipScouts"}, "the caller keeps its own"
    assert admitted("dispatch", {"taskID": "T-1"}) == admitted("dispatch", {"TaskId": "T-1"})
    handoff = admitted("handoff", {"needed": "x", "To": {"Agent": "a"}})
    assert handoff == {"needed": "x", "to": {"agent": "a"}}
    assert admitted("request", {"taskId": "T-1", "myOwn": 1}) == {"task_id": "T-1", "myOwn": 1}


def test_a_field_in_both_spellings_is_refused():
    assert "given twice" in str(refusal("dispatch", {"taskId": "T-1", "task_id": "T-2"}))


def test_a_null_stands_for_a_field_that_is_not_there():
    assert admitted("dispatch", {"task_id": "T-1", "spec_path": None}) == {"task_id": "T-1"}
    assert admitted("tool_result", {"tool": "sh", "output": None}) == {"tool": "sh", "output": None}
    assert admitted("request", {"mine": None}) == {"mine": None}


# templates


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_handoff_needs_what_its_template_says(template: Template):
    payload: dict[str, Any] = {"template": template.name} | dict.fromkeys(template.required, "something")
    assert admitted("handoff", payload) == payload
    for name in template.required:
        found = refusal("handoff", payload | {name: ""})
        assert found.facts["field"] == f"payload.{name}"
        assert template.name in str(found)


def test_a_handoff_without_a_template_is_a_standard_one():
    assert len(TEMPLATES) == 7
    assert refusal("handoff", {"from": "a"}).facts["field"] == "payload.needed"
    assert refusal("handoff", {"template": "party"}).facts["field"] == "payload.template"


# other names


def test_custom_is_a_note_whose_text_is_in_the_payload():
    assert admit("builder", "custom", "", {"text": "hi"}) == ("builder", "note", "hi", None)
    assert admit("builder", "custom", "hi", {"text": "hi", "n": 1}) == ("builder", "note", "hi", {"n": 1})
    assert admit("builder", "custom", "hi", None) == ("builder", "note", "hi", None)
    for body, payload in (("", {"text": 3}), ("a", {"text": "b"})):
        with pytest.raises(InvalidPayload) as found:
            admit("builder", "custom", body, payload)
        assert found.value.facts["field"] == "payload.text"


def test_what_custom_says_is_held_to_the_rules_of_a_body():
    small = Settings(max_body_bytes=5)
    with pytest.raises(InvalidBody, match="6 bytes"):
        draft(small, "builder", "", type="custom", payload={"text": "longer"})
    with pytest.raises(InvalidBody, match="empty"):
        draft(small, "builder", "", type="custom", payload={"text": ""})


@pytest.mark.parametrize("to", ["", "*", "all", "@all"])
def test_broadcast_is_a_note_to_all(to: str):
    found = draft(Settings(), to, "hi", type="broadcast")
    assert (found.to, found.type, found.body) == ("@all", "note", "hi")


def test_a_broadcast_to_somebody_is_refused():
    with pytest.raises(InvalidValue, match="goes to @all, not to 'builder'"):
        draft(Settings(), "builder", "hi", type="broadcast")


# names


@pytest.mark.promise("types")
@pytest.mark.parametrize(
    ("name", "near"),
    [("dispach", "dispatch"), ("worker-done", "worker_done"), ("Note", "note"), ("brodcast", "broadcast")],
)
def test_a_type_nobody_registered_is_refused_with_those_that_are_near(name: str, near: str):
    with pytest.raises(UnknownType) as found:
        admit("builder", name, "hi", None)
    assert near in found.value.facts["near"]
    assert f"Did you mean {near}" in found.value.hint


@pytest.mark.parametrize("name", ["../draft", "/etc/passwd", "a/b", "x" * 500, "été", ".", "dispatch.json"])
def test_a_name_cannot_lead_to_another_file(name: str):
    with pytest.raises(UnknownType):
        admit("builder", name, "hi", None)
