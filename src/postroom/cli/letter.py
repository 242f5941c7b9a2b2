"""How mail looks in a terminal. Bodies are indented, so that no body can pass for a header of ours."""

from typing import TYPE_CHECKING

from postroom.cli.moment import age, clock
from postroom.cli.output import clean, one_line
from postroom.model.ladder import Priority

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import Mail, Message

SHOWN_BEFORE = "(may have been shown before)"
_COLOURS = {Priority.URGENT: "red", Priority.HIGH: "yellow", Priority.LOW: "dim"}


def bare(address: str, here: str) -> str:
    """An address as the project `here` writes it."""
    return address.removeprefix(f"{here}/")


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
    text = message.subject or message.body.lstrip()[:longest].partition("\n")[0]
    if not text and message.payload:
        import json

        text = json.dumps(message.payload, ensure_ascii=False)
    names = [str(attachment["name"]) for attachment in message.attachments or ()]
    return one_line(" ".join([text[:longest], *(f"[{name}]" for name in names)]).strip())


def whole(
    message: "Message", context: "Context", *, shown_before: bool = False, spilled: str | None = None
) -> str:
    """A message with its header; only the beginning of a body that was spilled into a file."""
    paint = context.out.paint
    head = [
        paint(message.handle, "cyan"),
        f"{paint(one_line(message.writer(context.project())), 'bold')} → {one_line(message.to)}",
    ]
    head.append(one_line(message.type))
    if message.priority is not Priority.NORMAL:
        head.append(paint(message.priority.name.lower(), _COLOURS[message.priority]))
    head.append(paint(clock(message.said_at), "dim"))
    lines = ["  ".join(head)]
    if shown_before:
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
    if message.type in ("request", "decision_gate"):
        lines.append(paint(_expected(message), "dim"))
    elif message.requires_ack:
        lines.append(paint("The sender asks for an acknowledgement.", "dim"))
    return "\n".join(lines) + "\n"


def _expected(message: "Message") -> str:
    """What whoever wrote it waits for."""
    if message.type == "request":
        return f"The sender waits for an answer: postroom reply {message.handle} - <<'EOF'"
    return f"It waits for a decision: postroom decide {message.handle} OPTION (see: postroom gates)"


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
