"""Doors for who comes from other systems: a WebSocket on which everybody hears everybody, and one request.

`/ws/agent/messages/{project_id}?agent_id=…` has frames `{id, agent_type, type, content, metadata}`. Mail that
is pushed there is offered, as on the relay; nothing in those frames could say that it was seen, so the
agent's next frame says it. `POST /api/sessions/{id}/send {"message"}` writes to whoever runs in that session.
"""

from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Scope, Send

from postroom.clock import iso
from postroom.errors import (
    InvalidBody,
    InvalidValue,
    PostroomError,
    UnknownAgent,
    UnknownRecipient,
    UnknownType,
)
from postroom.model.context import own_id
from postroom.model.ladder import Evidence
from postroom.model.message import Agent, Json, Mail, Message
from postroom.protocol import record, registry
from postroom.protocol.operation import MAIL
from postroom.room.handout import Cursor
from postroom.room.local import LocalRoom
from postroom.server import rest
from postroom.server.connection import WIDEST, Connection
from postroom.server.desk import Desk
from postroom.server.doorway import Doorway, Stay, told, visitor
from postroom.server.exchange import Exchange
from postroom.server.feed import Feed
from postroom.server.guard import credentials
from postroom.server.principal import Principal
from postroom.server.relay import Client, Onlooker, parsed
from postroom.store.contract import ReadTx
from postroom.text import encode

PATH = "/ws/agent/messages/{project_id}"
SESSION = "/api/sessions/{id}/send"
STATUS = "status"
EVERYBODY = "@all"
_NOTE = "note"
_KEPT = "relayed"  # in the metadata of a message, what a frame said that a message has no place for


def routes(desk: Desk, feed: Feed, exchange: Exchange) -> list[BaseRoute]:
    async def enter(scope: Scope, query: dict[str, str]) -> Stay:
        project, name = scope["path_params"]["project_id"], query.get("agent_id", "")
        guest = await desk.do(visitor, desk, scope, project, name, joins=True)
        if guest.agent is None:
            return _Onlooker(desk, feed, guest, await feed.cursor(), credentials(scope)).stay
        one = Connection(guest.agent, _dressed, exchange.presence(project), WIDEST)
        one.tells_presence = False
        return _Client(desk, exchange, guest, one).staying(scope, feed, None)

    return [
        WebSocketRoute(PATH, Doorway(desk, ("agent_id",), enter), name="agent_messages"),
        Route(SESSION, _endpoint(desk), methods=["POST"], name="session_send"),
    ]


def frame(message: Message) -> Json:
    """A message as those systems have it."""
    metadata = dict(message.metadata or {})
    noted = metadata.pop(_KEPT, None)
    kept = cast("Json", noted) if isinstance(noted, dict) else {}  # anybody may write there
    return {
        "id": message.id,
        "agent_type": kept.get("agent_type") or message.sender_role or message.sender,
        "type": kept.get("type") or message.type,
        "content": message.body,
        "metadata": {
            **metadata, "id": message.id, "agent_id": message.sender, "timestamp": iso(message.created_at),
        },
    }  # fmt: skip


def _dressed(mail: Mail, texts: dict[int, str]) -> str:
    seq = mail.delivery.seq
    if mail.delivery.shown_before:  # its frame is its own
        document = frame(mail.message)
        document["metadata"]["shown_before"] = True
        return encode(document)
    if -seq not in texts:
        texts[-seq] = encode(frame(mail.message))
    return texts[-seq]


class _Client(Client):
    """An agent's connection."""

    def greet(self) -> None:
        """Those systems say nothing."""

    def heard(self, text: str) -> bool:
        return False

    async def hear(self, text: str | None) -> None:
        handed = Cursor(self._one.stand.id, self._one.handed)
        self._exchange.prove(self._one, self._one.proven(handed), Evidence.BOUNDARY)
        try:
            said = parsed(text)
            room, sender = self._guest.room, self._one.agent.address
            await self._exchange.do(lambda: record.sent(post(room, sender, said)))
        except PostroomError as exc:
            self._one.say({"type": "error", "content": str(exc), "metadata": told(exc)})


class _Onlooker(Onlooker):
    async def greet(self, send: Send) -> None:
        """As above."""

    def dressed(self, message: Message, at: str) -> str:
        document = frame(message)
        document["metadata"]["cursor"] = at
        return encode(document)


def post(room: LocalRoom, sender: str, said: Json) -> Any:
    """To everybody in the project, or to whom its metadata names."""
    content = said.get("content")
    metadata: Json = said.get("metadata") or {}
    if not isinstance(content, str) or type(metadata) is not dict:
        raise InvalidBody("a frame has a text `content`, and `metadata`, if any, is an object")
    kind, to = said.get("type") or STATUS, metadata.get("to") or EVERYBODY
    if not isinstance(kind, str) or not isinstance(to, str):
        raise InvalidValue("`type` and `metadata.to` are texts", field="type")
    kept = {"agent_type": str(said.get("agent_type") or "")[:200], "type": kind[:200]}
    return room.send(
        to, content, sender=sender, type=_type(room, kind), confirm=True, metadata={**metadata, _KEPT: kept}
    )


def _type(room: LocalRoom, kind: str) -> str:
    """The same, where it is one of ours that asks for nothing more; what those systems invent is a note."""
    try:
        needs = registry.find(kind, room.home)["schema"].get("required")
    except UnknownType:
        return _NOTE
    return _NOTE if needs else kind


def _endpoint(desk: Desk) -> rest.Endpoint:
    async def endpoint(request: Request) -> Response:
        who = await desk.do(desk.identify, credentials(request.scope))
        who.check(MAIL)  # before anything that it says is read
        said = await rest.body(request)
        message = said.get("message")
        if not isinstance(message, str) or set(said) != {"message"}:
            raise InvalidBody('the body is {"message": "…"}')
        await desk.do(_send, desk, who, request.path_params["id"], message)
        return rest.answer({"success": True})

    return endpoint


def _send(desk: Desk, who: Principal, session: str, body: str) -> None:
    agent = _running(desk.room.store.look(), session)
    room = desk.view(who, agent.project if agent else None)
    try:
        room.send(agent.address if agent else session, body)
    except UnknownRecipient as exc:
        raise UnknownAgent(f"there is no session {session[:80]!r}, nor an agent of that name") from exc


def _running(look: ReadTx, session: str) -> Agent | None:
    """Who runs in a session, by our name of it or its runtime's own."""
    if (found := look.session(session)) is not None:
        return look.agent(found.agent)
    for agent in look.agents():
        if any(own_id(one.id) == session for one in look.sessions(agent.id)):
            return agent
    return None
