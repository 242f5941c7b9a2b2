"""Operations that change something, in the caller's own name."""

import base64
import binascii
from datetime import datetime
from typing import Any

from postroom.errors import InvalidAttachment, InvalidValue, UnknownMessage
from postroom.model.message import Json, Mail, Sent
from postroom.protocol import record
from postroom.protocol.operation import OPERATE
from postroom.protocol.schema import is_moment
from postroom.room.bundle import take_bundle as bundled
from postroom.room.directory import check_own
from postroom.server.desk import Call

_SAYING = ("type", "payload", "subject", "priority", "requires_ack", "key", "metadata", "format", "thread",
           "reply_to", "correlation")  # fmt: skip
_RETRY = ("retry_after", "attempts", "backoff")
_PLAIN = frozenset(("to", "body", "sender", "confirm", "project", "ref", "agent"))  # no option is among them


def send(call: Call) -> Json:
    return record.sent(post(call))


def post(call: Call) -> Sent:
    args = call.args
    return call.room.send(
        args.get("to") or "", args.get("body") or "", sender=args.get("sender"),
        confirm=bool(args.get("confirm")), **options(call),
    )  # fmt: skip


def options(call: Call) -> Any:
    """What is said about a message. Files come with their content: a path would be one of this machine."""
    args = call.args
    if args.keys() <= _PLAIN:
        return {}
    found = {name: args[name] for name in _SAYING if args.get(name) is not None}
    for name in ("after", "expires"):
        if args.get(name) is not None:
            found[name] = _when(name, args[name])
    if args.get("class") is not None:
        found["cls"] = args["class"]
    if args.get("attachments"):
        found["attachments"] = [(one["name"], _content(one)) for one in args["attachments"]]
    return found


def _when(field: str, value: Any) -> Any:
    if not isinstance(value, str):
        return float(value)
    if not is_moment(value):
        raise InvalidValue(f"{field} must be seconds, or a moment with its zone", field=field)
    return datetime.fromisoformat(value.upper())


def _content(one: Json) -> bytes:
    try:
        return base64.b64decode(one["content"], validate=True)
    except (binascii.Error, ValueError):
        raise InvalidAttachment(f"the content of {one['name']!r} is no base64", name=one["name"]) from None


def reply(call: Call) -> Json:
    args = call.args
    return record.sent(call.room.reply(args["ref"], args["body"], agent=args.get("agent"), **options(call)))


def ack(call: Call) -> Json:
    return record.delivery(call.room.ack(call.args["ref"], agent=call.args.get("agent")))


def nack(call: Call) -> Json:
    args = call.args
    again: Any = {name: args[name] for name in _RETRY if args.get(name) is not None}
    return record.delivery(call.room.nack(args["ref"], args["reason"], agent=args.get("agent"), **again))


def withdraw(call: Call) -> Json:
    found = call.room.withdraw(call.message().id, sender=call.args.get("sender"))
    return {"deliveries": [record.delivery(one) for one in found]}


def forward(call: Call) -> Json:
    args, message = call.args, call.message()
    return record.sent(
        call.room.forward(
            message.id, args["to"], args.get("note") or "", sender=args.get("sender"), **options(call)
        )
    )


def decide(call: Call) -> Json:
    args = call.args
    return record.sent(
        call.room.decide(args["ref"], args["option"], note=args.get("note") or "", agent=args.get("agent"))
    )


def settle(call: Call) -> Json:
    return record.delivery(call.room.settle(_claimed(call, call.args)))


def give_up(call: Call) -> Json:
    mail = _claimed(call, call.args)
    call.room.give_up(mail)
    return record.delivery(_claimed(call, call.args).delivery)


def _claimed(call: Call, said: Json) -> Mail:
    """What somebody says it has claimed, as its claim was: whether that still stands is for the room."""
    who = call.room.who(call.args.get("agent"))
    message = call.room.message(said["id"])
    mail = call.room.store.look().mail(message.seq, who.id)
    if mail is None:
        raise UnknownMessage(f"message {said['id']} was not sent to {who.called}", message_ref=message.id)
    return mail._replace(delivery=mail.delivery._replace(nonce=said["claim"]))


def take_bundle(call: Call) -> Json:
    found = bundled(
        call.room, call.args.get("agent"), budget=call.get("budget", 9_000), route="http",
        claimer=call.who.claimer,
    )  # fmt: skip
    if found is None:
        return {"bundle": None}
    mails = [record.mail(one, claimed=True) for one in found.mails]
    return {"bundle": {"mails": mails, "frame": _frame(found.frame)}}


def settle_all(call: Call) -> Json:
    claims = call.args["claims"]
    mails = [_claimed(call, one) for one in claims]
    shown = [one.get("shown", len(mail.body)) for one, mail in zip(claims, mails, strict=True)]
    call.room.settle_all(mails, shown=shown)
    return {"settled": len(mails)}


def frame(call: Call) -> Json:
    args, who = call.args, call.room.who(call.args.get("agent"))
    look = call.room.store.look()
    found = [look.mail(call.room.message(one).seq, who.id) for one in args["ids"]]
    mails = [mail for mail in found if mail is not None]
    return _frame(call.room.frame(mails, budget=call.get("budget", 9_000), waiting=call.get("waiting", ())))


def _frame(found: Any) -> Json:
    return {
        "text": found.text, "mark": found.mark, "shown": [one.id for one in found.shown],
        "left_out": [one.id for one in found.left_out], "lengths": found.lengths, "missing": found.missing,
    }  # fmt: skip


def join(call: Call) -> Json:
    """Who may operate gives addresses to anybody, a program of the same user as on the command line; what an
    agent may is for the room to say.
    """
    args, me = call.args, call.who.agent
    name = args["name"]
    if me is not None and not call.who.has(OPERATE):
        check_own(call.room.store.look(), name, me, call.room.scope, args.get("supervisor"))
    names = ("role", "capabilities", "description", "supervisor")
    about: Any = {name: args[name] for name in names if args.get(name) is not None}
    return record.agent(call.room.join(name, **about))


def leave(call: Call) -> Json:
    return record.agent(call.room.leave(call.own()))


def rename(call: Call) -> Json:
    return record.agent(call.room.rename(call.args["name"], agent=call.own()))


def idle(call: Call) -> Json:
    return {"told": [record.message(one) for one in call.room.idle(call.own())]}


def manners(call: Call) -> Json:
    args, who = call.args, call.own()
    wishes: Any = {name: args[name] for name in ("mute", "hours", "zone", "digest") if name in args}
    if isinstance(wishes.get("mute"), str):
        wishes["mute"] = _when("mute", wishes["mute"])
    return record.manners(call.room.manners(who, **wishes), call.room.now())


def subscribe(call: Call) -> Json:
    return {"changed": call.room.subscribe(call.args["name"], agent=call.args.get("agent"))}


def unsubscribe(call: Call) -> Json:
    return {"changed": call.room.unsubscribe(call.args["name"], agent=call.args.get("agent"))}
