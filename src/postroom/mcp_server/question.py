"""`ask_human`: a question that is stored before anybody is asked, and asked in the agent's own window, too.

Where the client can put questions to whoever sits before it, it is asked to: in the older protocol by a
request of ours, in the newer by an answer that wants more, after which the client calls again. Whoever is
first has answered. What was said in the agent's own window is no person's word to anybody but that agent, so
the question is taken back from those who were asked elsewhere, and nobody's decision is written down.
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from postroom.errors import IllegalMove
from postroom.mcp_server.act import Call, answered, question_of
from postroom.room import permission
from postroom.room.ask import Question
from postroom.room.draft import GATE

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

Json = dict[str, Any]

_FIELD = "answer"
_HERE = "it was answered in the agent's own window"


async def ask_human(
    call: Call, ctx: "ServerRequestContext[Any, Any]", params: types.CallToolRequestParams
) -> Json | types.InputRequiredResult:
    said = params.input_responses or {}
    question = await call.host.do(question_of, call, params.request_state or "")
    if _FIELD in said:
        return await _told(call, question, said[_FIELD])
    if _can_be_asked(ctx) and call.patience() > 0 and not params.request_state:
        request = types.ElicitRequestFormParams(message=call.args["question"], requested_schema=_form(call))
        if not ctx.session.can_send_request:
            asked: Any = types.ElicitRequest(params=request)
            return types.InputRequiredResult(input_requests={_FIELD: asked}, request_state=question.sent.id)
        return await _first(call, question, ctx)
    return await answered(call, question)


def _can_be_asked(ctx: "ServerRequestContext[Any, Any]") -> bool:
    can = ctx.session.client_capabilities
    found = can.elicitation if can else None
    return found is not None and (found.form is not None or found.url is None)


def _form(call: Call) -> Json:
    field: Json = {"type": "string"}
    if call.args.get("options"):
        field["enum"] = call.args["options"]
    return {"type": "object", "properties": {_FIELD: field}, "required": [_FIELD]}


async def _told(call: Call, question: Question, said: Any) -> Json:
    """What a client has brought back; if nobody there wants to say, others still may."""
    found = _chosen(call, said)
    if found is None or await call.host.do(question.look) is not None:
        return await answered(call, question)
    await call.host.do(_take_back, call, question)
    return {"id": question.sent.message.handle, "answered": True, "answer": {"body": found, "note": _HERE}}


def _chosen(call: Call, said: Any) -> str | None:
    if not isinstance(said, types.ElicitResult) or said.action != "accept":
        return None
    found = (said.content or {}).get(_FIELD)
    options = call.args.get("options")
    return found if isinstance(found, str) and (not options or found in options) else None


async def _first(call: Call, question: Question, ctx: "ServerRequestContext[Any, Any]") -> Json:
    """Whoever answers first: who sits before the client, or who was asked elsewhere."""
    here = asyncio.ensure_future(
        ctx.session.elicit_form(call.args["question"], _form(call), related_request_id=ctx.request_id)
    )
    elsewhere = asyncio.ensure_future(answered(call, question))
    try:
        await asyncio.wait((here, elsewhere), return_when=asyncio.FIRST_COMPLETED)
        said = None
        if not elsewhere.done():
            with contextlib.suppress(MCPError, ValueError):  # the client cannot, after all
                said = await here
        if _chosen(call, said) is None:
            return await elsewhere
        elsewhere.cancel()
        await asyncio.gather(elsewhere, return_exceptions=True)
        return await _told(call, question, said)
    finally:
        for task in (here, elsewhere):
            task.cancel()
        await asyncio.gather(here, elsewhere, return_exceptions=True)


def _take_back(call: Call, question: Question) -> None:
    message = question.sent.message
    if message.type == GATE:
        permission.close(call.caller.room, message, _HERE)
        return
    with contextlib.suppress(IllegalMove):  # somebody has seen it: no harm
        call.caller.room.withdraw(message.id)
