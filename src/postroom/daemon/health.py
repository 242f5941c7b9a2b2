"""What `postroom doctor` finds of the daemon, of the terminals in which agents run, and of mailboxes."""

import os
import shlex
import socket
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.files.remote import is_remote
from postroom.bridges.manifest import Manifest
from postroom.bridges.registry import capabilities
from postroom.clock import iso, wall
from postroom.daemon import control, log
from postroom.daemon.place import TURNED_OFF, log_path, running
from postroom.errors import PostroomError
from postroom.model.message import Json
from postroom.room import glance
from postroom.setup.examine import Problem
from postroom.setup.plan import calling

_PATIENCE = 3.0  # seconds for an answer
_DAY = 86_400_000  # milliseconds


class Health(NamedTuple):
    """Facts for programs, lines for people, and what is wrong."""

    facts: Json
    rows: list[tuple[str, str]]
    problems: list[Problem]


def examine(home: str) -> Health:
    """All of it, without changing anything."""
    kept, run = manifests.every(home), calling(home)
    daemon, found = _daemon(home), list[Problem]()
    found += _of_daemon(daemon, kept, run)
    panes = [_pane(one) for one in kept if one.pane]
    found += _of_panes(panes, run)
    boxes = [_box(home, one) for one in kept if capabilities(one.bridge).mailbox]
    found += _of_boxes(boxes, run)
    facts: Json = {"daemon": daemon, "terminals": panes, "mailboxes": boxes}
    return Health(facts, list(_rows(daemon, panes, boxes)), found)


# the daemon


def _daemon(home: str) -> Json:
    """As it answers; `errors`: what it, or one before it (`earlier`), complained about in the last day."""
    since = iso(wall() - _DAY) or ""
    process = running(home)
    errors = [one for one in log.last(home) if str(one.get("time")) > since]
    facts: Json = {
        "process": host.pid_of(process) if process else None,
        "answers": False, "edition": None, "objection": None, "log": log_path(home),
        "errors": [one | {"earlier": not process} for one in errors],
    }  # fmt: skip
    if not process:
        return facts
    try:
        said = control.ask(home, "ping", patience=_PATIENCE)
    except PostroomError as exc:
        return facts | {"error": str(exc)}
    page: Json = said.get("web") or {}
    began = iso(said["since"]) or ""
    facts["errors"] = [
        one | {"earlier": str(one.get("time")) < began}
        for one in errors
        if page.get("problem") or one.get("event") != "page not served"  # which is settled by now
    ]
    return facts | {
        "answers": True, "edition": said.get("edition"),
        "objection": control.objection(said.get("edition")) or None,
        "page": {**page, "reached": _reached(page.get("url"))}, "config": said.get("config"),
        "logs": said.get("log"), "spans": said.get("spans"), "journals": said.get("journals"),
        "crashes": said["crashes"], "instead": said["instead"], "watches": said.get("watches"),
        "trees": said.get("trees"),
    }  # fmt: skip


def _reached(url: str | None) -> bool | None:
    """Whether somebody answers at that address; None: there is none."""
    if not url:
        return None
    where, until = urlsplit(url), time.monotonic() + _PATIENCE
    wanted = "127.0.0.1" if where.hostname in ("0.0.0.0", None) else where.hostname
    try:
        with socket.create_connection((wanted, where.port or 0), _PATIENCE) as link:
            if where.scheme == "https":
                return True  # whose certificate it is, is for who connects
            link.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            link.settimeout(max(0.1, until - time.monotonic()))
            return b" 200 " in link.recv(64)
    except OSError:
        return False


def _of_daemon(daemon: Json, kept: list[Manifest], run: str) -> Iterator[Problem]:
    again = f"{run} down && {run} up"
    if daemon["process"] is None:
        if kept:
            names = ", ".join(one.address for one in kept[:5])
            yield Problem(f"no daemon runs, so no mail is brought to {names}", f"{run} up")
        return
    if not daemon["answers"]:
        yield Problem(f"the daemon (process {daemon['process']}) does not answer", again)
        return
    if daemon["objection"]:
        yield Problem("the daemon that runs is of another version", again)
    parts: list[dict[str, Any]] = [
        daemon.get(name) or {} for name in ("page", "config", "logs", "spans", "journals")
    ]
    page, config, logs, spans, journals = parts
    if page.get("problem") not in (None, TURNED_OFF):
        advice, _, then = (page.get("hint") or ": postroom up").rpartition(": postroom")
        yield Problem(f"the page is not served: {page['problem']}", f"{run}{then}", f"{advice}:")
    elif page.get("reached") is False:
        yield Problem(f"nobody answers at {page['url']}, where the daemon serves its page", again)
    if config.get("problem"):
        words = f"the daemon goes by an earlier config: {config['problem']}"
        yield Problem(words, f"{run} up", f"Mend {config['path']}, then:")
    if spans.get("problem"):
        yield Problem("otel is on, and no spans are told", again, f"{spans['problem']}; then:")
    if logs.get("problem"):
        yield Problem(f"the daemon's log cannot be written: {logs['problem']}", f"{run} status")
    if journals.get("problem"):
        yield Problem(f"the journals are not written: {journals['problem']}", f"{run} journal sync")
    for agent, words in daemon["instead"].items():
        yield Problem(f"{agent} is not reached by the best route: {words}", f"{run} agents")


# terminals


def _pane(one: Manifest) -> Json:
    pane, _, server = one.pane.partition("@")
    return {
        "agent": one.address, "pane": pane, "server": server.partition(",")[0],
        "there": not host.is_gone(one.process), "again": one.again if one.is_ours else None,
        "comes_back": one.is_ours and one.restart != "never",
    }  # fmt: skip


def _of_panes(panes: list[Json], run: str) -> Iterator[Problem]:
    if panes and not host.on_path("tmux"):
        yield Problem("agents run in panes, and tmux is not on your PATH", advice="Install tmux.")
    for one in panes:
        if one["there"] or one["comes_back"]:
            continue
        what = f"{one['agent']} was in pane {one['pane']}, and runs there no more: its mail waits"
        if one["again"]:
            yield Problem(what, one["again"])
        else:
            advice = f"Where it runs now: {run} adopt PANE; or let go of it:"
            yield Problem(what, f"{run} adopt --release {one['agent']}", advice)


# mailboxes


def _box(home: str, one: Manifest) -> Json:
    place, seen = str(one.details.get("place", "")), glance.get(home, one.agent)
    is_far = is_remote(str(one.details.get("tree", "")))
    folder = os.path.join(place, "inbox")
    blind = "it is in a store elsewhere" if is_far else host.unsafe_file_system(place)
    return {
        "agent": one.address, "place": place,
        "there": None if is_far else os.path.isdir(folder),
        "writable": None if is_far else os.access(folder, os.W_OK | os.X_OK),
        "blind": blind or None,
        "trouble": (seen.unsent or (seen.words if seen.doing == "gone" else "")) if seen else None,
    }  # fmt: skip


def _of_boxes(boxes: list[Json], run: str) -> Iterator[Problem]:
    for one in boxes:
        who = f"the mailbox of {one['agent']}"
        if one["there"] is False:
            tree, name = map(shlex.quote, os.path.split(str(one["place"])))
            yield Problem(f"{who} is not there: {one['place']}", f"{run} mailbox add {tree} {name}")
        elif one["writable"] is False:
            folder = shlex.quote(os.path.join(one["place"], "inbox"))
            yield Problem(f"{who} cannot be written: {one['place']}", f"chmod u+rwx {folder}")
        elif one["trouble"]:
            yield Problem(f"{who} has trouble: {one['trouble']}", f"{run} mailbox list")


# for people


def _rows(daemon: Json, panes: list[Json], boxes: list[Json]) -> Iterator[tuple[str, str]]:
    if daemon["process"] is None:
        if panes or boxes:
            yield "daemon", "none runs"
    else:
        state = "answers" if daemon["answers"] else "does not answer"
        edition = f", edition {daemon['edition']}" if daemon["edition"] else ""
        page = daemon["page"]["url"] if daemon["answers"] else None
        yield "daemon", f"process {daemon['process']} {state}{edition}{f', page at {page}' if page else ''}"
    if panes:
        gone = sum(not one["there"] for one in panes)
        yield "terminals", f"{len(panes)} in panes{f', {gone} of them gone' if gone else ''}"
    if boxes:
        blind = sum(bool(one["blind"]) for one in boxes)
        told = f", {blind} of them looked at every 5 s: changes there are not told of" if blind else ""
        yield "mailboxes", f"{len(boxes)} served{told}"
    for one, times in _folded(daemon["errors"]):
        more = one.get("agent") or one.get("stage") or ""
        words = f"{one['event']}{f' ({more})' if more else ''}: {one.get('error') or one.get('words') or ''}"
        often = f" ({times} times, last then)" if times > 1 else ""
        text = f"{str(one['time'])[:19]}Z {words.rstrip(': ')}{often}"
        yield ("earlier", f"{one['level']}, {text}") if one.get("earlier") else (one["level"], text)


def _folded(errors: list[Json]) -> Iterator[tuple[Json, int]]:
    """The last of those that say the same, and how many did."""
    alike: dict[tuple[str, ...], list[Json]] = {}
    for one in errors:
        said = ("level", "event", "agent", "stage", "error", "words", "earlier")
        alike.setdefault(tuple(str(one.get(key)) for key in said), []).append(one)
    for same in sorted(alike.values(), key=lambda same: str(same[-1]["time"])):
        yield same[-1], len(same)
