"""Operations on agents, by a person who may operate, or by the agent's supervisor."""

from functools import partial

from postroom.errors import NoIdentity, Refused, UsageError
from postroom.model.message import Agent, Json
from postroom.protocol import record
from postroom.protocol.operation import OPERATE, SCOPES
from postroom.protocol.plain import clean
from postroom.room.authority import Operator
from postroom.room.directory import agents_own
from postroom.room.interruption import interrupt as interrupted
from postroom.room.manners import pause
from postroom.server.desk import Call


def _operator(call: Call, agent: Agent) -> Operator:
    """Who steers; a name that nothing proves makes nobody a supervisor."""
    me = call.who.agent
    if me is not None and me.id == agent.supervisor:
        return Operator(me.address, "human" if me.is_human else "agent")
    call.who.check(OPERATE)
    return _person(call)


def _person(call: Call) -> Operator:
    return Operator(call.who.address or "somebody at this machine", "human")


def interrupt(call: Call) -> Json:
    agents_own(call.args["address"])
    agent = call.agent()
    by, kind, reason = _operator(call, agent), call.get("kind", "stop"), call.get("reason", "")
    stop = partial(call.desk.bridges.interrupt, agent, by, kind, reason)
    return interrupted(call.room, agent, by, stop, kind=kind, reason=reason)


def resume(call: Call) -> Json:
    agent = call.agent()
    by = _operator(call, agent)
    was_going, released = pause(call.room, agent, by, paused=False)
    return {"agent": agent.address, "by": by.name, "was_paused": not was_going, "released": released}


def command(call: Call) -> Json:
    text, agent = call.args["text"].strip("\n"), call.agent()
    if not text.strip() or clean(text) != text:
        raise UsageError("there is nothing to type, or it is no plain text", hint="Give one line of text.")
    if "\n" in text:
        raise Refused("a command is one line", hint="Type it in its terminal: postroom attach NAME")
    done = call.desk.bridges.command(agent, text, _person(call).name)
    return {"agent": agent.address, **{name: str(done[name]) for name in ("result", "words", "reason")}}


def link(call: Call) -> Json:
    """A browser that is logged in may do all that a person may, so nobody gets there with less."""
    person = call.who.agent
    for scope in SCOPES:
        call.who.check(scope)
    if person is None or not person.is_human:
        raise NoIdentity("only a person has the page", hint="Bring a person's token: postroom tokens")
    secret = call.desk.links.make(person.id, by=call.who.token)
    return {"path": f"/login?once={secret}", "person": person.address}


def retry(call: Call) -> Json:
    found = call.room.retry(call.args["ref"], recipient=call.args.get("to"))
    return {"deliveries": [record.delivery(one.delivery) for one in found]}


def purge(call: Call) -> Json:
    message = call.room.message(call.args["ref"])
    call.room.purge(message.id)
    return {"purged": message.id}
