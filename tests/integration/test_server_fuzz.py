"""The API asked for what nobody expects: it answers as its document says, and never with a 5xx."""

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from postroom.room.local import LocalRoom
from postroom.server.openapi import openapi
from tests.conftest import UNLIMITED
from tests.served import Served, served

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = int(os.environ.get("POSTROOM_FUZZ", "4"))
_TOKENS: dict[str, str] = {}
_ENDLESS = ["/api/v1/stream", "/api/v1/inbox/listen"]
SCHEMA = schemathesis.openapi.from_dict(openapi()).exclude(path=_ENDLESS)


@pytest.fixture(scope="module")
def web() -> Iterator[Served]:
    """A room in which there is something of each kind."""
    with tempfile.TemporaryDirectory() as directory:
        room = LocalRoom(os.path.join(directory, "room"), UNLIMITED, agent="planner", project="p")
        for name in ("planner", "builder", "human:ana"):
            room.join(name, role="tester")
        room.subscribe("news")
        room.send("builder", "first", attachments=[("a.txt", b"text")])
        room.reply(room.send("builder", "question", type="request").id, "answer", agent="builder")
        room.send("human:ana", "May I?", type="decision_gate", payload={"question": "May I?"})
        with served(room) as found:
            yield found
        room.close()


@pytest.mark.promise("web-api")
@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    deadline=None,
)
def test_whatever_is_asked_is_answered_as_the_document_says(case: schemathesis.Case, web: Served):
    _hurry(case)
    for who in ("human:ana", "builder"):
        for known in (False, True):
            if known:
                _be_real(case, web)
            token = _token(web, who)
            answer = case.call(base_url=web.url, headers={"Authorization": f"Bearer {token}"})
            case.validate_response(answer, checks=CHECKS)


def _hurry(case: schemathesis.Case) -> None:
    """Nothing is waited for."""
    for said in (case.query, case.body):
        if isinstance(said, dict) and "timeout" in said and not isinstance(said["timeout"], str):
            said["timeout"] = 0
    if case.operation.label.endswith(("/ask", "/wait", "/until", "/inbox/reply")):
        where = case.body if case.operation.label.endswith("/ask") else case.query
        if isinstance(where, dict):
            where["timeout"] = 0


def _be_real(case: schemathesis.Case, web: Served) -> None:
    """The same about what there is."""
    real = {"ref": web.room.sent("planner")[-1][0].id, "address": "builder", "name": "news", "n": "1"}
    real["id"] = "builder"
    case.path_parameters = {name: real[name] for name in case.path_parameters or {}}


def _token(web: Served, who: str) -> str:
    """One for all, whatever they are called by now."""
    if who not in _TOKENS:
        _TOKENS[who] = web.token(who)
    return _TOKENS[who]
