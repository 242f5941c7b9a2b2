"""The AsyncAPI document is sound, and says of the bus what is true."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from postroom.protocol import asyncapi, builtin, keyword, schema, wire
from postroom.room.local import LocalRoom
from tests.process import ROOT


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    with open(os.path.join(ROOT, "docs", "reference", "asyncapi.json"), encoding="utf-8") as file:
        return json.load(file)


def resolve(document: dict[str, Any], ref: str) -> Any:
    found: Any = document
    for part in ref.removeprefix("#/").split("/"):
        found = found[part]
    return found


def refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            assert set(value) == {"$ref"}, "nothing stands beside a reference"
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from refs(one)


def test_it_has_the_parts_the_standard_asks_for(document: dict[str, Any]):
    assert document["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= set(document["info"])
    allowed = {
        "asyncapi",
        "id",
        "info",
        "servers",
        "defaultContentType",
        "channels",
        "operations",
        "components",
    }
    assert set(document) <= allowed
    for channel in document["channels"].values():
        assert {"address", "messages"} <= set(channel)
        named = {part.split("}")[0] for part in channel["address"].split("{")[1:]}
        assert named == set(channel.get("parameters", {})), "each parameter of an address is described"


def test_every_reference_leads_somewhere(document: dict[str, Any]):
    found = list(refs(document))
    assert len(found) > 100
    assert all(resolve(document, ref) for ref in found)


def test_an_operation_speaks_of_its_own_channels_messages(document: dict[str, Any]):
    for operation in document["operations"].values():
        assert operation["action"] in ("send", "receive")
        for part in (operation, operation.get("reply", operation)):
            channel = part["channel"]["$ref"]
            assert all(message["$ref"].startswith(f"{channel}/messages/") for message in part["messages"])


@pytest.mark.promise("types")
def test_every_type_is_a_message_that_a_mailbox_may_hold(document: dict[str, Any]):
    assert sorted(document["channels"]["mailbox"]["messages"]) == builtin.names()
    for name in builtin.names():
        message = document["components"]["messages"][name]
        envelope, own = message["payload"]["allOf"]
        payload = own["properties"]["payload"]
        ref = payload.get("$ref") or payload["oneOf"][0]["$ref"]
        assert keyword.register(resolve(document, ref)) == (builtin.built_in(name) or {})["schema"]
        [example] = message["examples"]
        schema.check(example["payload"], resolve(document, envelope["$ref"]))
        schema.check(example["payload"]["payload"], resolve(document, ref))
        assert example["payload"]["type"] == own["properties"]["type"]["const"] == name


def test_the_envelope_and_the_event_are_those_on_the_wire(room: LocalRoom, document: dict[str, Any]):
    sent = room.send("builder", "hello", after=60, expires=90, metadata={"a": 1})
    shown = wire.message(sent.message)
    assert list(asyncapi.ENVELOPE) == list(shown)
    schema.check(shown, document["components"]["schemas"]["Envelope"])
    for event in room.events():
        shown = wire.event(event)
        assert list(asyncapi.EVENT) == list(shown)
        schema.check(shown, document["components"]["schemas"]["Event"])


def test_a_message_without_payload_fits_where_none_is_required(document: dict[str, Any]):
    free = document["components"]["messages"]["note"]["payload"]["allOf"][1]["properties"]["payload"]
    assert {"type": "null"} in free["oneOf"]
    strict = document["components"]["messages"]["dispatch"]["payload"]["allOf"][1]["properties"]["payload"]
    assert set(strict) == {"$ref"}
