"""One thing looked at closely: a message with its evidence, a conversation, an agent."""

import json
import time
from collections.abc import Iterable
from typing import Any, cast

from postroom.clock import left, wall
from postroom.model.message import Json
from postroom.protocol.unwire import moment
from postroom.top import word
from postroom.top.doing import ago, at_home, attach, doing, inbox, reached, title
from postroom.top.line import MARKS, Part, called, written
from postroom.top.source import Source
from postroom.top.standing import standing
from postroom.top.text import gist, many, plain
from postroom.top.view import View

_WHOLE = 20_000  # characters of a body that are shown
_EACH = 2_000  # of each in a conversation
_THREAD = 200  # messages of one

Lines = list[list[Part]]


def message(source: Source, view: View, ref: str) -> Lines:
    """What it says, how far it got with each, and everything that happened to it."""
    found, story = source.call("message", ref=ref), source.call("timeline", ref=ref)
    lines = [*_head(found, view), [], *_body(found, _WHOLE, view.me), []]
    who = {one["id"]: one for one in view.agents}.get
    for delivery in found["deliveries"]:
        stands = standing(delivery, who(delivery["recipient_id"]))
        to = written(delivery["recipient"], found, view.me["project"])
        lines.append(
            [Part(f"{stands.rail}  ", stands.tone), Part(to, "bold"), Part(f"  {stands.word}", stands.tone)]
        )
        lines += [[Part(f"      {text}", "dim")] for text in _proof(delivery)]
    return [*lines, [], [Part("What happened", "bold")], *_story(story["events"], view)]


def _head(found: Json, view: View) -> Lines:
    project = view.me["project"]
    kind = plain(found["type"]).replace("_", " ")
    pair = [Part(written(found[end], found, project)) for end in ("sender", "to")]
    facts = [kind, *([found["priority"]] if found["priority"] != "normal" else [])]
    facts += [f"sender {found['verified']}"] if found["verified"] == "unverified" else []
    facts += ["asks for an ack"] if found["requires_ack"] else []
    facts += [many(len(found["attachments"]), "attachment")] if found["attachments"] else []
    subject = plain(found["subject"]).replace("\n", " ") if found["subject"] else ""
    return [
        [Part(subject, "bold") if subject else Part(kind, "dim")],
        [pair[0], Part(" → ", "dim"), pair[1]],
        [Part(f"{full(found['created_at'])} · {' · '.join(map(plain, facts))} · {found['handle']}", "dim")],
    ]


def full(at: str) -> str:
    """`14:05:09`, with the day if that is another one."""
    then = time.localtime((moment(at) or 0) // 1000)
    return time.strftime("%H:%M:%S" if then[:3] == time.localtime()[:3] else "%d %b %H:%M:%S", then)


def _body(found: Json, most: int, me: Json) -> Lines:
    text = found["body"]
    lines = [[Part(line)] for line in plain(text[:most].rstrip("\n")).split("\n")] if text else []
    if len(text) > most:
        whole = at_home(me, f"postroom thread {found['handle']}")
        more = f"… {len(text) - most:,} more characters: {whole}"
        lines.append([Part(more, "dim")])
    if found["payload"]:
        facts = [f"{plain(key)}: {_value(value)[:most]}" for key, value in found["payload"].items()]
        lines += [[], *([Part(text, "dim")] for text in facts)]
    return lines


def _value(value: Any) -> str:
    """Of a payload: words as they are, all else as JSON has it."""
    if isinstance(value, list) and all(isinstance(one, str) for one in cast("list[Any]", value)):
        return plain(" | ".join(cast("list[str]", value)))
    return plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _proof(delivery: Json) -> Iterable[str]:
    if delivery["evidence"]:
        yield f"evidence: {word.EVIDENCE.get(delivery['evidence'], delivery['evidence'])}"
    elif delivery["reason"] and delivery["state"] not in ("stored", "offered"):
        yield plain(delivery["reason"])
    if delivery["route"]:
        tries = f", attempt {delivery['attempts']}" if delivery["attempts"] > 1 else ""
        yield f"by {plain(word.route(delivery['route']))}{tries}"


def _story(events: list[Json], view: View) -> Lines:
    names = {one["id"]: called(one["address"], view.me["project"]) for one in view.agents}
    whats = [word.HAPPENED.get(str(one["type"]), str(one["type"])) for one in events]
    wide = max(map(len, whats), default=0)
    lines: Lines = []
    for one, what in zip(events, whats, strict=True):
        payload, who = one["payload"], names.get(one["agent_id"] or one["human_id"] or "", "")
        why = "words" if one["type"] == "delivery.deferred" else "reason"
        said = [word.route(payload.get("route")), *map(payload.get, ("outcome", why, "option"))]
        details = "  " + ", ".join(plain(str(text)) for text in said if text)
        when = Part(f"{full(one['timestamp'])}  ", "dim")
        lines.append([when, Part(f"{plain(what):<{wide}}"), Part(f" {who}{details}".rstrip(), "dim")])
    return lines


def thread(source: Source, view: View, ref: str) -> Lines:
    """A conversation, oldest first."""
    found = source.call("thread", ref=ref)["messages"]
    lines: Lines = [[Part("The conversation", "bold"), Part(f"  {many(len(found), 'message')}", "dim")]]
    if len(found) > _THREAD:
        lines.append([Part(f"the latest {_THREAD}", "dim")])
    who = {one["id"]: one for one in view.agents}.get
    for one in found[-_THREAD:]:
        rails = [standing(each, who(each["recipient_id"])) for each in one["deliveries"]]
        lines += [[], *_head(one, view)[:2]]
        lines[-1] += [
            Part(f"  {full(one['created_at'])}", "dim"),
            *(Part(f"  {each.rail} {each.word}", each.tone) for each in rails[:3]),
        ]
        lines += _body({**one, "payload": None}, _EACH, view.me)
    return lines


def agent(source: Source, view: View, party: str) -> Lines:
    """What it does and how that is known, what waits for it and why, how it is reached, what was said."""
    one = next((one for one in view.agents if one["id"] == party), None)
    if one is None:
        return [[Part("It is not here any more.", "dim")]]
    now = doing(one)
    tone = MARKS[now.state][1]
    lines: Lines = [
        [Part(plain(one["address"]), "bold"), Part(f"  {plain(one['role'])}" if one["role"] else "", "dim")],
        [Part(now.word, tone), Part(f"  {now.evidence}" if now.evidence else "", "dim")],
    ]
    if now.until and inbox(one):
        lines.append([Part(f"Its mail waits {now.until}.", tone)])
    if now.state == "asks":
        there = at_home(view.me, attach(one))
        how = [Part("Answer it in its terminal: "), Part(there, "link")]
        lines.append(how if there else [Part("Answer it where it runs: its terminal is not known here.")])
    if now.doubt:
        lines.append([Part(f"{now.doubt[:1].upper()}{now.doubt[1:]}.", "trouble")])
    if one["description"]:
        lines += [[], [Part(plain(one["description"]))]]
    waiting = f"{many(inbox(one), 'message')} waiting, {one['offered']} in hand"
    lines += [[], [Part("Inbox    ", "dim"), Part(waiting)]]
    for why in one["why"]:
        due = moment(why["due_at"])
        until = f", due in {left(due - wall())}" if due else ""
        lines.append([Part(f"         {why['messages']} held: {word.waits(why['reason'])}{until}", "waits")])
    lines.append([Part("Reached  ", "dim"), Part(reached(one))])
    for session in one["sessions"]:
        place = " · ".join(
            plain(str(session[name])) for name in ("worktree", "branch", "pane") if session[name]
        )
        what = f"{title(session['runtime'] or 'a program')}, {session['presence']} {ago(session['since'])}"
        lines.append([Part("Session  ", "dim"), Part(f"{what}{f' · {place}' if place else ''}")])
    said = source.call("messages", limit=20, chars=200, **{"with": one["address"]})["messages"]
    return [*lines, [], [Part("Latest mail", "bold")], *_latest(said, view.me["project"])]


def _latest(said: list[Json], project: str) -> Lines:
    lines: Lines = []
    for each in said:
        pair = f"{written(each['sender'], each, project)} → {written(each['to'], each, project)}"
        text = gist(each["subject"] or each["body"], 60)
        lines.append([Part(f"{full(each['created_at'])}  ", "dim"), Part(f"{pair}  "), Part(text, "dim")])
    return lines or [[Part("nothing yet", "dim")]]
