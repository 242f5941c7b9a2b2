"""Frames, read back by rules of their own: strict, so that nothing passes for a frame that is none."""

import json
import re
from typing import Any, NamedTuple

NAME = r'(?:[A-Za-z0-9_./:@#+-]+|"[^"\n]*")'
FACT = "|".join((
    rf"to {NAME}", r"reply to [0-9a-f]{8}", r"thread [0-9a-f]{8}", "urgent|high|low", rf"class {NAME}",
    r"sent \d+ (?:s|min|h|d) ago", r"expires in \d+ (?:s|min|h(?: \d+ min)?|d(?: \d+ h)?)", "expired",
    "may have been shown before", "hidden characters removed",
))  # fmt: skip
HEADING = re.compile(
    rf"from (?P<sender>{NAME}) \((?:role (?P<role>{NAME}), )?"
    rf"(?P<identity>unverified|the room itself|identity {NAME})\), (?P<type>{NAME})"
    rf"(?: (?P<id>[0-9a-f]{{8}}))?(?P<facts>(?:, (?:{FACT}))*)"
    rf"(?: -> (?P<command>postroom (?:reply|ack) (?P<wanted>[0-9a-f]{{8}}).*))?"
)
OPENING = re.compile(r"Postroom: (\d+) messages?(?: for \S+| for \"[^\"]*\")?\. Lines that begin with .*")
CLOSING = re.compile(
    r"end(?:\. ([\d,]+) more wait: ([0-9a-f, ]+)(?: and [\d,]+ others)?\. Next: (postroom .*))?"
)
FIELD = re.compile(r"(subject|payload|attached|redacted|cut|payload not shown|more is attached): (.*)")
STUFFED = re.compile(r"([^\S\n]*)\\(\\*[%\uff05\ufe6a\u066a]{2}[0-9a-z]{8}.*)", re.IGNORECASE)


class Letter(NamedTuple):
    """One message as it was read back."""

    handle: str
    sender: str
    role: str | None
    identity: str
    type: str
    facts: list[str]
    command: str | None
    fields: dict[str, list[str]]
    body: str

    @property
    def payload(self) -> Any:
        [text] = self.fields["payload"]
        return json.loads(text)


class Read(NamedTuple):
    """A frame as it was read back."""

    letters: list[Letter]
    left: list[str]
    more: int


def parse(text: str, mark: str) -> Read:
    """Read a frame; fails on anything that is not exactly one."""
    first, *lines, last, nothing = text.split("\n")
    assert nothing == ""
    opening = OPENING.fullmatch(ours(first, mark))
    closing = CLOSING.fullmatch(ours(last, mark))
    assert opening, first
    assert closing, last
    letters: list[Letter] = []
    while lines:
        letters.append(letter(lines, mark))
    assert int(opening[1]) == len(letters)
    named = closing[2].split(", ") if closing[2] else []
    return Read(letters, named, int((closing[1] or "0").replace(",", "")))


def letter(lines: list[str], mark: str) -> Letter:
    """Take one message from the lines."""
    heading = HEADING.fullmatch(ours(lines.pop(0), mark))
    assert heading, "a message begins with its provenance"
    fields: dict[str, list[str]] = {}
    body: list[str] = []
    while lines:
        if not lines[0].startswith(mark):
            assert "cut" not in fields, "nothing follows where it was cut"
            body.append(unescaped(lines.pop(0)))
        elif field := FIELD.fullmatch(ours(lines[0], mark)):
            assert not body or field[1] == "cut"
            fields.setdefault(field[1], []).append(field[2])
            lines.pop(0)
        else:
            break
    assert bool(heading["id"]) != bool(heading["wanted"]), "its handle stands there once"
    sender, role, kind = (heading[name] and heading[name].strip('"') for name in ("sender", "role", "type"))
    return Letter(
        heading["id"] or heading["wanted"], sender, role, heading["identity"], kind,
        heading["facts"].split(", ")[1:], heading["command"], fields, "\n".join(body),
    )  # fmt: skip


def ours(line: str, mark: str) -> str:
    assert line.startswith(mark + " "), line
    return line[len(mark) + 1 :]


def unescaped(line: str) -> str:
    found = STUFFED.fullmatch(line)
    return found[1] + found[2] if found else line
