"""How mail looks in a terminal. Bodies are indented, so that no body can pass for a header of ours."""

from typing import TYPE_CHECKING

from postroom.cli.moment import age, clock
from postroom.cli.output import clean, one_line
from postroom.model.ladder import Priority, State, ended

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.conversation import Gate
    from postroom.model.message import Delivery, Mail, Message

_REQUEST, _GATE = "request", "decision_gate"
SHOWN_BEFORE = "(may have been shown before)"
_COLOURS = {Priority.URGENT: "red", Priority.HIGH: "yellow", Priority.LOW: "dim"}


def bare(address: str, here: str) -> str:
    """An address as the project `here` writes it."""
    return address.removeprefix(f"{here}/")


def is_doubtful(message: "Message") -> bool:
    """Whether nothing but the name that it was given says who wrote it."""
    return message.verified == "unverified"


def put_list(mails: "list[Mail]", context: "Context") -> None:
    """One line for each."""
    here = context.project()
    rows = [(m.handle, m.message.writer(here), m.type, age(m.message.said_at), _gist(m)) for m in mails]
    context.put_table(rows, ("cyan", "bold", "", "dim"), ("ID", "FROM", "TYPE", "AGE", "TEXT"))


def _gist(mail: "Mail") -> str:
    m = mail.message
    marks = [] if m.priority is Priority.NORMAL else [m.priority.name.lower() + ":"]
    if mail.shown_before:
        marks.append(SHOWN_BEFORE)
    return " ".join([*marks, gist(m)])


def gist(message: "Message", longest: int = 200) -> str:
    """What a message is about, in a line."""
    if message.redacted is not None:
        return "(redacted)"
    text = message.subject or message.body.lstrip()[:longest].partition("\n")[0] or _question(message)
    if not text and message.payload:
        import json

        text = json.dumps(message.payload, ensure_ascii=False)
    names = [str(attachment["name"]) for attachment in message.attachments or ()]
    return one_line(" ".join([text[:longest], *(f"[{name}]" for name in names)]).strip())


def _question(message: "Message") -> str:
    """What a gate asks that asks it in its payload."""
    asked = (message.payload or {}).get("question") if message.type == _GATE else None
    return asked.lstrip().partition("\n")[0] if isinstance(asked, str) else ""


def whole(
    message: "Message",
    context: "Context",
    *,
    delivery: "Delivery | None" = None,
    spilled: str | None = None,
    asks: bool = True,
) -> str:
    """A message with its header; only the beginning of a body that was spilled into a file.

    It ends with what its sender still waits for: from the reader, whose `delivery` is given, or from anybody.
    """
    paint = context.out.paint
    head = [
        paint(message.handle, "cyan"),
        f"{paint(one_line(message.writer(context.project())), 'bold')} → {one_line(message.to)}",
        one_line(message.type),
    ]
    if is_doubtful(message):
        head.append(paint(message.verified, "yellow"))
    if message.priority is not Priority.NORMAL:
        head.append(paint(message.priority.name.lower(), _COLOURS[message.priority]))
    head.append(paint(clock(message.said_at), "dim"))
    lines = [context.out.lay(head, 10)]
    if delivery is not None and delivery.shown_before:
        lines.append(paint(SHOWN_BEFORE, "yellow"))
    if message.subject:
        lines.append("Subject: " + paint(one_line(message.subject), "bold"))
    if message.reply_to:
        lines.append(paint(f"In reply to {message.reply_to[-8:]}", "dim"))
    lines += _indented(message) if spilled is None else _beginning(message, spilled)
    if message.payload is not None:
        lines.append("Payload: " + clean(context.to_json(message.payload)))
    if message.attachments:
        from postroom.cli.enclosed import lines as enclosed

        lines += enclosed(message, context)
    if asks and (expected := _expected(message, delivery, context)):
        lines.append(paint(expected, "dim"))
    return "\n".join(lines) + "\n"


def _expected(message: "Message", delivery: "Delivery | None", context: "Context") -> str:
    """What whoever wrote it still waits for."""
    if message.type == _GATE:
        gate = context.room().gate(message.id)
        if not gate.is_open(context.room().now()):
            return ""
        return f"It waits for a decision: {context.as_called(choice(gate))}"
    if (message.type != _REQUEST and not message.requires_ack) or message.redacted is not None:
        return ""
    known = context.room().store.look().deliveries(message.seq) if delivery is None else [delivery]
    states = [one.state for one in known]
    if all(map(ended, states)) or (message.type == _REQUEST and State.ACKED in states):
        return ""
    if message.type == _REQUEST:
        answer = context.as_called(f"postroom reply {message.handle} - <<'EOF'")
        return f"The sender waits for an answer: {answer}"
    return "The sender asks for an acknowledgement."


def choice(gate: "Gate") -> str:
    """The command that decides, and its options as a shell must get them."""
    import shlex

    options = ", ".join(shlex.quote(one_line(option)) for option in gate.options)
    return f"postroom decide {gate.message.handle} OPTION, which is one of {options}"


def _indented(message: "Message") -> list[str]:
    if message.redacted is not None:
        return ["  (redacted)"]
    if not message.body:
        return []
    return [f"  {line}".rstrip() for line in clean(message.body).split("\n")]


def _beginning(message: "Message", path: str) -> list[str]:
    from postroom.room.spill import beginning

    shown = beginning(message.body)
    told = f"… {len(message.body):,} characters, of which these are {len(shown):,}. The whole body: {path}"
    return [*(f"  {line}".rstrip() for line in clean(shown).split("\n")), f"  {one_line(told)}"]
