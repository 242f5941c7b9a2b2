"""Operations that may take a while; none holds a thread meanwhile."""

from typing import Any

from postroom.errors import StaleClaim
from postroom.model.message import Json
from postroom.protocol import record
from postroom.room.wait import Climb
from postroom.server.acts.writing import options
from postroom.server.desk import Call


async def until(call: Call) -> Json:
    message = await call.desk.do(call.message)
    found = await call.patient.until(message.id, call.args["rung"], timeout=call.get("timeout", 0.0))
    climb = await call.desk.do(Climb, call.room, message.id, call.args["rung"])
    reached = bool(await call.desk.do(climb.done))
    return {"reached": reached, "deliveries": [record.delivery(one) for one in found]}


async def wait(call: Call) -> Json:
    found = await call.patient.wait(
        call.args.get("agent"), timeout=call.get("timeout", 30.0), limit=call.get("limit", 50)
    )
    return {"messages": [record.mail(one) for one in found]}


async def wait_for_reply(call: Call) -> Json:
    args = call.args
    return record.mail(
        await call.patient.wait_for_reply(
            args["ref"], agent=args.get("agent"), timeout=call.get("timeout", 30.0)
        )
    )


async def ask(call: Call) -> Json:
    args = call.args
    said = options(call)
    return record.mail(
        await call.patient.ask(
            args["to"], args["body"], sender=args.get("sender"), timeout=call.get("timeout", 30.0), **said
        )
    )


async def heard(call: Call) -> Json:
    await _held(call).heard()
    return {}


async def unlisten(call: Call) -> Json:
    await _held(call).end()
    return {}


def _held(call: Call) -> Any:
    """The mailbox that the caller holds by another connection of its own."""
    held = call.desk.held.get(call.args["listener"])
    if held is None or held.claimer != call.who.claimer:
        raise StaleClaim("nobody listens by that name any more", hint="Listen again.")
    return held


async def take(call: Call) -> Json:
    """A claim with a lease: whoever does not settle in time, or has gone, has not shown it."""
    args = call.args
    found = await call.patient.take(args.get("agent"), id=args.get("id"), timeout=call.get("timeout", 0.0))
    return {"mail": None if found is None else record.mail(found, claimed=True)}
