"""Everything that is listed, one line each, as parts with a style: for the screen, and for plain output."""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from postroom.clock import left, wall
from postroom.model.address import ROOM
from postroom.model.message import Json
from postroom.protocol.unwire import moment
from postroom.text import width
from postroom.top.doing import Doing, State, at_home, attach, in_order, inbox
from postroom.top.standing import summary
from postroom.top.text import gist, many, plain
from postroom.top.view import View

MARKS: dict[State, tuple[str, str]] = {
    "asks": ("▲", "trouble"),
    "stuck": ("▲", "trouble"),
    "paused": ("‖", "waits"),
    "busy": ("●", "fine"),
    "idle": ("○", "fine"),
    "off": ("·", "dim"),
    "person": ("☻", "dim"),
    "left": ("·", "dim"),
}
_BETWEEN = " · "
_NAME = 24  # columns of a name at most
_SCRAP = 8  # columns in which a text says nothing any more
_WIDE = 108  # columns from which a line says how far each message got


class Part(NamedTuple):
    """`style`: bold, dim, link, fine, waits, trouble, or none."""

    text: str
    style: str = ""


class Row(NamedTuple):
    key: str
    parts: list[Part]


def cut(text: str, columns: int) -> str:
    """A text of so many columns, filled up or shortened."""
    if (spare := columns - width(text)) >= 0:
        return text + " " * spare
    while text and width(text) > columns - 1:
        text = text[:-1]
    return cut(text.rstrip() + "…", columns) if columns > 0 else ""


def called(address: str, project: str) -> str:
    """A name as those of the project say it."""
    return plain(address.removeprefix(f"{project}/"))


def written(address: str, message: Json, project: str) -> str:
    """The same of a name in a message, which may be of another project."""
    is_bare = address != ROOM and not any(mark in address for mark in "/:@")
    return called(f"{message['project']}/{address}" if is_bare else address, project)


def moment_of(at: str) -> str:
    """`14:05`, or `03 Nov` on another day."""
    then = time.localtime((moment(at) or 0) // 1000)
    return time.strftime("%H:%M" if then[:3] == time.localtime()[:3] else "%d %b", then)


def agents(view: View, columns: int) -> list[Row]:
    """Those who need somebody first."""
    pairs, project = in_order(view.agents), view.me["project"]
    names = {one["id"]: called(one["address"], project) for one in view.agents}
    wide = min(_NAME, max(map(width, names.values()), default=0), max(8, columns // 4))
    doings = max((len(doing.word) for _, doing in pairs), default=0)
    return [
        Row(one["id"], _agent(one, doing, (names[one["id"]], wide, doings), view.me, columns))
        for one, doing in pairs
    ]


def _agent(one: Json, doing: Doing, laid: tuple[str, int, int], me: Json, columns: int) -> list[Part]:
    name, wide, doings = laid
    mark, style = MARKS[doing.state]
    is_calm = doing.state in ("off", "person", "left")
    count = inbox(one)
    parts = [
        Part(f"{mark} ", style),
        Part(f"{cut(name, wide)}  ", "dim" if is_calm else "bold"),
        Part(
            cut(doing.word, doings + 2),
            style if doing.state in ("asks", "stuck", "paused") else "dim" if is_calm else "",
        ),
        Part(cut(f"✉ {count:,}" if count else "", 6), "waits"),
    ]
    rest = columns - sum(width(part.text) for part in parts)
    return parts + fitted(_about(one, doing, style, me), rest)


def _about(one: Json, doing: Doing, style: str, me: Json) -> list[Part]:
    """What it waits for, what is in doubt, how that is known; of somebody who is fine, what they are for."""
    count, said = inbox(one), list[Part]()
    if doing.until and count:
        said.append(Part(f"{count:,} {'waits' if count == 1 else 'wait'} {doing.until}", style))
    elif doing.state == "asks":
        said.append(Part(f"stands still {doing.until}", style))
    if doing.state == "asks" and (there := at_home(me, attach(one))):
        said.append(Part(there, "link"))
    if doing.doubt:
        said.append(Part(doing.doubt, "trouble"))
    known = doing.evidence or ("" if said else gist(one["description"]))
    said += [Part(known, "dim")] if known else []
    return [part for one in said for part in (Part(_BETWEEN, "dim"), one)][1:]


def fitted(parts: Iterable[Part], columns: int) -> list[Part]:
    """As many of them as there is room for. A command is there whole or not at all: opened, it is."""
    found: list[Part] = []
    for part in parts:
        if part.text.lstrip().startswith("postroom ") and width(part.text) > columns:
            continue
        if columns <= 0 or (found and width(part.text) > columns and columns < _SCRAP):
            break
        text = part.text if width(part.text) <= columns else cut(part.text, columns)
        columns -= width(text)
        found.append(part._replace(text=text))
    return found[:-1] if found and found[-1].text == _BETWEEN else found


def daemon(view: View, columns: int) -> list[Row]:
    """What the daemon looks after, and what of that fails; nothing where none answers."""
    if not view.health:
        return []
    trees = view.health.get("trees", {})
    counts = (
        many(view.health.get("agents", 0), "agent"),
        many(view.health.get("watches", {}).get("count", 0), "watch", "watches"),
        many(trees.get("mailboxes", 0), "mailbox", "mailboxes"),
        many(trees.get("count", 0), "tree"),
    )
    said, wrong = ", ".join(one for one in counts if not one.startswith("0 ")), failing(view.health)
    mark, style = MARKS["stuck" if wrong else "busy"]
    parts = [Part(f"{mark} ", style), Part(f"looks after {said or 'nobody'}")]
    return [Row("daemon", fitted([*parts, Part(f"  {wrong}" if wrong else "", "trouble")], columns))]


def failing(health: Json) -> str:
    """What of all that the daemon looks after has crashed since it began, or cannot be looked at now."""
    crashes, watches = health.get("crashes", 0), health.get("watches", {}).get("crashes", 0)
    unseen = len(health.get("trees", {}).get("trouble", ()))
    words = (
        (crashes, f"{many(crashes, 'crash', 'crashes')} of bridges"),
        (watches, f"{many(watches, 'crash', 'crashes')} of watches"),
        (unseen, f"{many(unseen, 'tree')} not looked at"),
    )
    return ", ".join(one for count, one in words if count)


def mail(view: View, columns: int) -> list[Row]:
    """Newest first."""
    project = view.me["project"]
    who = {one["id"]: one for one in view.agents}.get
    pairs = [_between(one, project) for one in view.mail]
    times = max((len(moment_of(one["created_at"])) for one in view.mail), default=0)
    wide = min(30 if columns < _WIDE else 40, max(map(width, pairs), default=0), columns // 3)
    return [
        Row(one["id"], _letter(one, (pair, wide, times), columns, who))
        for one, pair in zip(view.mail, pairs, strict=True)
    ]


def _between(one: Json, project: str) -> str:
    sender, to = (written(one[end], one, project) for end in ("sender", "to"))
    return f"{sender} → {to.replace('topic:', '#')}"


def _letter(
    one: Json, laid: tuple[str, int, int], columns: int, who: Callable[[str], Json | None]
) -> list[Part]:
    pair, wide, times = laid
    found = summary(one, who)
    standing = cut(found.word, 24) if columns >= _WIDE else found.word if found.tone == "trouble" else ""
    subject, rest = gist(one["subject"] or "", 100), gist(_said(one))
    parts = [
        Part(f"{moment_of(one['created_at']):<{times}}  ", "dim"),
        Part(f"{found.rail}  ", found.tone),
        Part(f"{cut(pair, wide)}  "),
    ]
    if columns >= _WIDE:
        parts.insert(2, Part(f"{standing} ", found.tone))
        standing = ""
    room = columns - sum(width(part.text) for part in parts)
    brief = standing if width(standing) < room - 16 else standing.removeprefix("waits: ")
    tail = [Part(f" {brief}", found.tone)] if brief and width(brief) < room - _SCRAP else []
    room -= sum(width(part.text) for part in tail)
    text = fitted([Part(subject, "bold"), Part("  " if subject and rest else ""), Part(rest, "dim")], room)
    used = sum(width(part.text) for part in text)
    return [*parts, *text, Part(" " * (room - used)), *tail]


def _said(one: Json) -> str:
    return one["body"] or (f"({one['type'].replace('_', ' ')})" if one["type"] != "note" else "")


def needs(view: View, columns: int) -> list[Row]:
    """What waits for the caller: decisions, questions, agents that ask, and what was not delivered."""
    project = view.me["project"]
    rows = [Row(f"gate {one['message']['id']}", _gate(one, project, columns)) for one in view.mine]
    rows += [Row(f"request {one['id']}", _request(one, project, columns)) for one in view.asks]
    rows += [Row(f"agent {one['id']}", _asking(one, found, view.me, columns)) for one, found in asking(view)]
    for kind, mark, letters in (("dead", "×", view.dead), ("uncertain", "≈", view.uncertain)):
        rows += [
            Row(f"{kind} {one['id']} {one['delivery']['recipient_id']}", _lost(one, mark, project, columns))
            for one in letters
        ]
    return rows


def others(view: View, columns: int) -> list[Row]:
    """Decisions that wait for somebody else."""
    return [Row(f"other {one['message']['id']}", _other(one, view, columns)) for one in view.others]


def _request(one: Json, project: str, columns: int) -> list[Part]:
    parts = [
        Part("? ", "waits"),
        Part(f"{written(one['sender'], one, project)} asks you: "),
        Part(gist(one["subject"] or one["body"]), "bold"),
    ]
    return fitted(parts, columns)


def _other(one: Json, view: View, columns: int) -> list[Part]:
    message, project = one["message"], view.me["project"]
    who = ", ".join(called(each, project) for each in one["asked"])
    what = gist(message["subject"] or message["body"])
    return fitted(
        [Part(f"  {written(message['sender'], message, project)} asks {who}: {what}", "dim")], columns
    )


def asking(view: View) -> list[tuple[Json, Doing]]:
    """Agents that cannot go on before a person has answered."""
    return [(one, found) for one, found in in_order(view.agents) if found.state == "asks"]


def _asking(one: Json, found: Doing, me: Json, columns: int) -> list[Part]:
    there = at_home(me, attach(one))
    parts = [
        Part("▲ ", "trouble"),
        Part(called(one["address"], me["project"]), "bold"),
        Part(f" {found.word}", "trouble"),
        *([Part(f"  {there}", "link")] if there else []),
        Part(f"  {found.evidence}", "dim"),
    ]
    return fitted(parts, columns)


def _gate(one: Json, project: str, columns: int) -> list[Part]:
    message = one["message"]
    what = gist(message["subject"] or message["body"])
    options = " | ".join(map(plain, one["options"]))
    expires = moment(one["expires_at"])
    rest = f"  {left(expires - wall())} left" if expires else ""
    parts = [
        Part("? ", "waits"),
        Part(f"{written(message['sender'], message, project)} asks ", ""),
        Part(what, "bold"),
        Part(f"  {options}", "link"),
    ]
    found = fitted(parts, columns - width(rest))
    used = sum(width(part.text) for part in found)
    return [*found, Part(" " * max(0, columns - width(rest) - used)), Part(rest, "dim")]


def _lost(one: Json, mark: str, project: str, columns: int) -> list[Part]:
    reason = one["delivery"].get("reason") or ""
    why = "nobody can tell what became of it" if mark == "≈" else gist(reason)
    to = written(one["delivery"]["recipient"], one, project)
    parts = [
        Part(f"{mark} ", "trouble"),
        Part(f"{written(one['sender'], one, project)} → {to}  "),
        Part(gist(one["subject"] or one["body"], 80), "bold"),
        Part(f"  {why}", "trouble"),
    ]
    return fitted(parts, columns)
