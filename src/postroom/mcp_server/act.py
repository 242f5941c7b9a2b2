"""What each tool does."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from postroom.errors import (
    AlreadyDecided,
    IllegalMove,
    InvalidPayload,
    InvalidValue,
    NotFound,
    Refused,
    StaleClaim,
    TimedOut,
    UsageError,
)
from postroom.mcp_server import shown
from postroom.mcp_server.fault import told
from postroom.mcp_server.visit import ROUTE
from postroom.model.message import Mail, Message, Sent
from postroom.protocol.schema import check
from postroom.room import people
from postroom.room.aio import AsyncRoom
from postroom.room.ask import Question
from postroom.room.bundle import take_bundle
from postroom.room.draft import GATE, REQUEST, draft

if TYPE_CHECKING:
    from postroom.bell.contract import Waiter
    from postroom.mcp_server.port import Caller, Host
    from postroom.mcp_server.tool import Tool
    from postroom.mcp_server.visit import Arrival

Json = dict[str, Any]

BUDGET = 20_000  # characters of mail in one answer
_MOST = 50  # messages that `inbox` lists
_PATIENCE = 50.0  # seconds: clients give a call a minute
_LONGEST = 3600.0  # seconds: whoever waits longer finds the answer in its inbox


class Call(NamedTuple):
    """One call of a tool."""

    host: "Host"
    arrival: "Arrival"
    caller: "Caller"
    args: Json

    @property
    def waiting(self) -> "Waiting":
        return Waiting(self)

    @property
    def options(self) -> Any:
        """What makes that a call made twice sends one message."""
        return {"key": f"mcp {self.arrival.key}"} if self.arrival.key else {}

    def some(self, *names: str) -> Any:
        return {name: self.args[name] for name in names if self.args.get(name)}

    def patience(self, usual: float = _PATIENCE) -> float:
        wait = self.args.get("wait")
        return usual if wait is None else float(min(wait, _LONGEST))


async def begun(host: "Host", arrival: "Arrival", tool: "Tool", args: Json) -> Call:
    """A call of a tool, if what it says is sound. It proves what its model was shown before."""
    _check(tool, args)
    await arrival.visit.handed()
    return Call(host, arrival, await host.do(arrival.begin), args)


def _check(tool: "Tool", args: Json) -> None:
    try:
        check(args, {**tool.schema, "additionalProperties": False}, tool.name)
    except InvalidPayload as exc:
        takes = ", ".join(f"{name}*" if name in tool.needs else name for name in tool.takes)
        raise InvalidPayload(str(exc), hint=f"`{tool.name}` takes {takes or 'nothing'}.") from None


class Waiting(AsyncRoom):
    """The room of one call, for what waits: no thread is held meanwhile."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.caller.room, call.host.pool)
        self._of = call

    async def _rung(self, waiter: "Waiter", left: float | None, due: int | None) -> None:
        """What comes while it waits is nobody's whose token was revoked meanwhile."""
        await super()._rung(waiter, left, due)
        await self.call(self._of.arrival.admit)

    async def answer(self, question: Question, timeout: float) -> Mail:
        """As `ask`, but the answer is only offered: it is seen when the next call proves it."""
        return await self._of.arrival.until(self._answer(question, timeout, self._offered))

    def _offered(self, mail: Mail) -> None:
        with suppress(IllegalMove, StaleClaim):  # a hook of the same agent has shown it already, or will
            self._of.arrival.take(self._of.caller, mail.id)


async def send(call: Call) -> Json:
    args = call.args
    said = call.some("subject", "priority", "thread", "type", "payload")
    return shown.sent(
        await call.host.do(
            call.caller.room.send, args.get("to") or "", args.get("body") or "", **said, **call.options
        )
    )


async def inbox(call: Call) -> Json:
    found = await call.arrival.until(call.waiting.wait(timeout=call.patience(0.0), limit=_MOST))
    return {"messages": [shown.line(mail) for mail in found]}


async def read(call: Call) -> Json:
    return await call.host.do(_read_one if call.args.get("id") else _read_next, call)


def _read_one(call: Call) -> Json:
    """All of it, however long: whoever names a message has seen how much of it there is."""
    mail = call.arrival.take(call.caller, call.args["id"])
    found = [] if mail is None else [shown.mail(mail)]
    return {"messages": found, "waiting": len(call.caller.room.peek(limit=_MOST))}


def _read_next(call: Call) -> Json:
    room = call.caller.room
    bundle = take_bundle(room, None, budget=BUDGET, route=ROUTE, claimer=call.arrival.visit.claimer)
    if bundle is None:
        return {"messages": [], "waiting": len(room.peek(limit=_MOST))}
    missing = bundle.frame.missing
    call.arrival.keep(room, bundle.mails, missing)
    pairs = zip(bundle.mails, missing, strict=True)
    found = [shown.mail(mail, missing=cut, path=room.spill(mail) if cut else None) for mail, cut in pairs]
    return {"messages": found, "waiting": len(room.peek(limit=_MOST))}


async def reply(call: Call) -> Json:
    args = call.args
    if args.get("option"):
        return await call.host.do(_decide, call)
    return shown.sent(await call.host.do(call.caller.room.reply, args["id"], args["body"], **call.options))


def _decide(call: Call) -> Json:
    args, room = call.args, call.caller.room
    try:
        return shown.sent(room.decide(args["id"], args["option"], note=args["body"]))
    except AlreadyDecided:
        decision = room.gate(args["id"]).decision
        if decision is None or (decision.by, decision.option) != (call.caller.agent.address, args["option"]):
            raise
        return {"id": args["id"], "to": [], "note": "you have decided that before"}


async def ask(call: Call) -> Json:
    args = call.args
    question = await call.host.do(
        Question, call.caller.room, args["to"], args["body"], None, {**call.options}
    )
    return await answered(call, question)


async def answered(call: Call, question: Question) -> Json:
    """The answer, or why there is none: that is as good as the room's letter about it, which is taken."""
    try:
        found = await call.waiting.answer(question, call.patience())
    except (TimedOut, Refused) as exc:
        return {"id": question.sent.message.handle, "answered": False, "note": told(exc, "ask")}
    return {"id": question.sent.message.handle, "answered": True, "answer": shown.mail(found)}


async def ack(call: Call) -> Json:
    args, room = call.args, call.caller.room
    if args.get("refuse"):
        found = await call.host.do(room.nack, args["id"], args["refuse"])
    else:
        found = await call.host.do(room.ack, args["id"])
    return {"id": args["id"], "state": found.state.value}


async def agents(call: Call) -> Json:
    return await call.host.do(_agents, call.caller)


def _agents(caller: "Caller") -> Json:
    here = caller.agent.project or caller.room.project()
    found = [one for one in caller.room.agents() if one.agent.id != caller.agent.id]
    return {"you": caller.agent.address, "agents": [shown.status(one, here) for one in found]}


async def handoff(call: Call) -> Json:
    args = call.args
    payload = {"needed": args["needed"]} | call.some("status", "files", "acceptance")
    options = {"type": "handoff", "payload": payload} | call.options
    return shown.sent(await call.host.do(call.caller.room.send, args["to"], args["needed"], **options))


async def notify_human(call: Call) -> Json:
    said = call.some("subject", "priority")
    return shown.sent(await call.host.do(_to_people, call, call.args["body"], "agent_message", **said))


async def ask_human(call: Call) -> Json:
    """Asked on the page and in a terminal; in the agent's own window, too: `question`."""
    return await answered(call, await call.host.do(question_of, call))


def question_of(call: Call, known: str = "") -> Question:
    """The one that was stored before, or a new one.

    `known`: the id of the one before, as the client brings it back. It is no secret and has no seal, so that
    it means the same to the next daemon; what it may name is the very question that is asked again.
    """
    room, words = call.caller.room, call.args["question"]
    if known:
        message = _asked_before(call, known, words)
        return Question.of(room, message.to, _sent(call, message))
    if options := call.args.get("options"):
        sent = _to_people(call, words, GATE, payload={"options": options}, priority="high")
    else:
        sent = _to_people(call, words, REQUEST, requires_ack=True, priority="high")
    return Question.of(room, sent.message.to, sent)


def _asked_before(call: Call, known: str, words: str) -> Message:
    with suppress(UsageError, NotFound):
        message = call.caller.room.message(known)
        is_question = message.type in (GATE, REQUEST) and message.body == words
        if is_question and message.sender_id == call.caller.agent.id:
            return message
    hint = "Call `ask_human` again."
    raise InvalidValue("that is no question of yours", field="requestState", hint=hint)


def _sent(call: Call, message: Message) -> Sent:
    deliveries = call.caller.room.store.look().deliveries(message.seq)
    return Sent(message, deliveries, ["stored"] * len(deliveries), duplicate=True)


def _to_people(call: Call, body: str, type: str, **said: Any) -> Sent:
    room = call.caller.room
    wanted = draft(room.settings, "@up", body, type=type, home=room.home, **said, **call.options)
    return people.write(room, wanted, call.args.get("to") or "")


ACTS: dict[str, Callable[[Call], Awaitable[Json]]] = {
    act.__name__: act
    for act in (send, inbox, read, reply, ask, ack, agents, handoff, ask_human, notify_human)
}
