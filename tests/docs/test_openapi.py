"""The OpenAPI document says what the server does, and all of it."""

from typing import Any

import pytest
from starlette.routing import Route

from postroom.protocol.operation import BY_NAME, COMPOSED, OPERATIONS, PATH, PREFIX
from postroom.room.contract import Room
from postroom.room.local import LocalRoom
from postroom.server.app import routes
from postroom.server.calling import ACTS
from postroom.server.desk import Desk
from postroom.server.openapi import openapi
from postroom.server.port import NoBridges
from postroom.server.rest import template

OF_THE_PAGE = {"/login", "/{path:path}"}


def test_every_method_of_a_room_has_an_operation():
    methods = [name for name in vars(Room) if not name.startswith("_") and callable(getattr(Room, name))]
    assert [name for name in methods if name not in BY_NAME and name not in COMPOSED] == []
    assert [name for parts in COMPOSED.values() for name in parts if name not in BY_NAME] == []


def test_every_operation_has_a_function_and_names_what_its_path_takes():
    assert set(ACTS) == {one.name for one in OPERATIONS}
    for one in OPERATIONS:
        named = {part[1:-1] for part in one.path.split("/") if part.startswith("{")}
        assert named == {each.name for each in one.parameters if each.where == PATH}, one.name
        assert len({each.name for each in one.parameters}) == len(one.parameters), one.name


OUTSIDE = ("/healthz", "/metrics", "/api/sessions/{id}/send")


@pytest.mark.promise("web-api")
def test_every_route_is_in_the_document_and_nothing_else_is(room: LocalRoom):
    desk = Desk(room, NoBridges())
    served = {
        (route.path, method.lower())
        for route in routes(desk, "cookie")
        if isinstance(route, Route) and route.path not in OF_THE_PAGE
        for method in route.methods or ()
        if method != "HEAD"
    }
    desk.close()
    told = {(template(path), method) for path, methods in openapi()["paths"].items() for method in methods}
    assert served == told


def test_every_reference_leads_somewhere():
    document = openapi()
    for ref in _refs(document):
        found: Any = document
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]
    assert all(path.startswith(PREFIX) or path in OUTSIDE for path in document["paths"])


def _refs(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [ref for one in value.values() for ref in _refs(one)]
    return [ref for one in value for ref in _refs(one)] if isinstance(value, list) else []
