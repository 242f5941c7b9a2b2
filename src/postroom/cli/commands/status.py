"""`postroom status`."""

import os
from typing import TYPE_CHECKING, Any, cast

from postroom.cli.output import count
from postroom.clock import iso

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context
    from postroom.cli.distant import Distant
    from postroom.cli.parser import Parser
    from postroom.errors import UsageError
    from postroom.model.message import AgentStatus
    from postroom.room.local import LocalRoom

HELP = """\
Where the room is, how large it is, what waits in it, who listens, and what needs attention. Exits 1 where the
config is refused: then it says what is wrong with it, and goes by the usual settings."""
EXAMPLES = """\
  postroom status
  postroom status --json"""

WAL_LIMIT = 64 << 20
_TYPED, _FILES = ("tmux", "pty"), "files"  # bridges that type into terminals; the one of file mailboxes
_NAMED = 5  # agents of several


def add_arguments(parser: "Parser") -> None: ...


def run(args: "argparse.Namespace", context: "Context") -> int:
    del args  # every command is called alike
    if distant := context.elsewhere:
        return _elsewhere(distant, context)
    report = gather(context.room(anyway=True), context.refused)
    if context.json:
        context.put_json(report)
    else:
        context.put(_text(report, context))
    return 1 if context.refused else 0


def _elsewhere(room: "Distant", context: "Context") -> int:
    """What its daemon says of a room that is not on this machine."""
    report = room.call("status")
    if context.json:
        context.put_json(report)
        return 0
    counts = report["counts"]
    rows = [
        ("room", f"{room.url}, version {report['version']}"),
        ("here", f"{count(counts['agents'], 'agent')} in {count(counts['projects'], 'project')}"),
        ("mail", _open(counts)),
        ("dead letters", f"{counts['dead']:,}, and {counts['uncertain']:,} uncertain"),
    ]
    paint = context.out.paint
    context.put("".join(f"{paint(name.ljust(13), 'dim')} {value}\n" for name, value in rows))
    return 0


def gather(room: "LocalRoom", refused: "UsageError | None" = None) -> dict[str, Any]:
    """Everything `status` knows, as it is in JSON; `refused`: what is wrong with the config."""
    from postroom import __version__
    from postroom.bell.polling import SECONDS
    from postroom.config import config_path
    from postroom.room import reserve
    from postroom.room.outbox import lying
    from postroom.store.sqlite.about import about

    agents = room.agents()
    people = sum(one.agent.is_human for one in agents)
    facts = about(cast("Any", room.store.look()))
    report: dict[str, Any] = {
        "version": __version__,
        "home": room.home,
        "config": config_path(room.home),
        "config_problem": f"{refused}" if refused else None,
        "room": facts.room,
        "created_at": iso(facts.created_at),
        "store": {
            "path": room.store.path,
            "bytes": _size(room.store.path),
            "wal_bytes": _size(room.store.path + "-wal"),
            "durability": room.settings.durability,
            "schema": facts.version,
            "readonly": room.store.readonly,
            "free_bytes": _free(room.home),
            "reserve_bytes": reserve.held(room.home),
            "full": _is_full(room),
        },
        "counts": {
            "agents": len(agents) - people,
            "people": people,
            "projects": len(room.projects()),
            "messages": facts.messages,
            "events": facts.events,
            "waiting": sum(status.waiting for status in agents),
            "held": sum(status.held for status in agents),
            "offered": sum(status.offered for status in agents),
            "dead": facts.dead,
            "uncertain": sum(status.uncertain for status in agents),
        },
        "bell": {"kind": "polling", "seconds": SECONDS} if room.bell.polls else {"kind": "unix sockets"},
        "journal": _journal(room),
        "listeners": [_listener(status) for status in agents if status.reach == "live"],
        "spool": [one._asdict() for one in lying(agents)],
        "daemon": _daemon(room.home),
    }
    return report | {"warnings": _warnings(report)}


def _journal(room: "LocalRoom") -> dict[str, Any]:
    """Where the journals are, how far behind, and whether the store has lost what they have."""
    from postroom.room import journal, loss

    where = journal.directory(room)
    lost = loss.noted(where)
    return {
        "path": where, "behind": journal.lag(room), "ahead": journal.is_ahead(room),
        "lost": lost and lost._asdict(),
    }  # fmt: skip


def _daemon(home: str) -> dict[str, Any]:
    """The room's daemon; `running` is false where there is none, or it does not answer."""
    from postroom import host
    from postroom.bridges.manifest import every
    from postroom.daemon.place import log_path, running

    found = every(home)
    facts: dict[str, Any] = {
        "running": False, "log": log_path(home), "wanted": len(found), "stands_still": _standing_still(found),
    }  # fmt: skip
    if not (process := running(home)):
        return facts
    from postroom.daemon.control import ask, objection
    from postroom.errors import PostroomError

    facts["process"] = host.pid_of(process)
    try:
        said = ask(home, "ping", patience=2.0)
    except PostroomError as exc:
        return facts | {"error": str(exc)}
    since = iso(said["since"])
    kept = {name: said.get(name) for name in ("agents", "crashes", "instead", "watches", "trees")}
    other = objection(said.get("edition")) or None
    more = {"page": said.get("web"), "config": said.get("config"), "logs": said.get("log"),
            "spans": said.get("spans")}  # fmt: skip
    return facts | {"running": True, "since": since, "other": other, **kept, **more}


def _standing_still(kept: "list[Manifest]") -> str:
    """Say what the daemon does for those agents, and does not do while it does not run."""
    typed = any(one.bridge in _TYPED for one in kept)
    files = [one.address for one in kept if one.bridge == _FILES]
    others = [one.address for one in kept if one.bridge not in (*_TYPED, _FILES)]
    found = ["nothing is typed into the terminals of agents"] if typed else []
    if files:
        found.append(f"no mail is carried to or from the file mailboxes of {_some(files)}")
    if others:
        found.append(f"no mail is brought to {_some(others)}")
    return ", and ".join(found)


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _about_journal(facts: dict[str, Any]) -> str:
    """The store alone has to be whole: what is behind is written by whoever syncs next."""
    if facts["ahead"]:
        return f"in {facts['path']}; they have events that the store has lost (see: postroom verify)"
    whole = "" if facts["lost"] else "the store has them all; "
    more = f" ({whole}to write them: postroom journal sync)" if facts["behind"] else ""
    return f"{count(facts['behind'], 'event')} behind, in {facts['path']}{more}"


def _about_daemon(facts: dict[str, Any]) -> str:
    if "process" not in facts:
        kept = count(facts["wanted"], "agent")
        wanted = f"; {kept} would be kept: postroom up" if facts["wanted"] else ""
        return f"none{wanted}" + (f"; log {facts['log']}" if os.path.exists(facts["log"]) else "")
    if not facts["running"]:
        return f"process {facts['process']} does not answer; see {facts['log']}"
    kept = f"keeps {count(facts['agents'], 'agent')}{_crashes(facts['crashes'])}"
    if (watches := facts["watches"]) and (watches["count"] or watches["crashes"]):
        panes = count(watches["count"], "watch").replace("watchs", "watches")
        kept += f"; {panes}{_crashes(watches['crashes'])}"
    if (trees := facts["trees"]) and trees["count"]:
        unseen = f", {len(trees['trouble'])} of them not looked at" if trees["trouble"] else ""
        kept += f"; {count(trees['count'], 'tree')}{unseen}"
    page = f"; the page: {url}" if (url := facts["page"]["url"]) else ""
    return f"process {facts['process']} since {facts['since']}, {kept}{page}; log {facts['log']}"


def _crashes(number: int) -> str:
    return f", {count(number, 'crash').replace('crashs', 'crashes')}" if number else ""


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _free(home: str) -> int | None:
    from postroom.room.reserve import free

    try:
        return free(home)
    except (OSError, AttributeError):
        return None


def _is_full(room: "LocalRoom") -> bool:
    """Whether the disk has no space for more mail, or the user's quota of it has none."""
    from postroom.errors import StoreFull
    from postroom.room.reserve import is_full

    return not room.store.readonly and isinstance(is_full(room.store.path), StoreFull)


def _listener(status: "AgentStatus") -> dict[str, Any]:
    holder = status.listening
    return {"agent": status.agent.address, "process": int(holder.split(".")[0]) if holder else None}


def _warnings(report: dict[str, Any]) -> list[str]:
    store, counts = report["store"], report["counts"]
    found: list[str] = []
    if report["config_problem"]:
        words = "the config is refused, and with it whatever would act by it"
        found.append(f"{words}: {report['config_problem']}")
    if store["full"]:
        found.append(_about_full_disk(store["reserve_bytes"]))
    if store["wal_bytes"] > WAL_LIMIT:
        size = _bytes(store["wal_bytes"])
        found.append(f"the WAL has grown to {size}: some reader keeps it from starting over")
    found += _losses(report["journal"])
    if store["readonly"]:
        found.append("the room can be read but not written")
    for one in report["spool"]:
        if one["waiting"]:
            found.append(f"spooled, not stored: {one['waiting']} in {one['path']}; see: postroom doctor")
        if one["rejected"]:
            where = f"{one['path']}/.postroom/rejected"
            found.append(f"put aside, not letters: {one['rejected']} in {where}; see: postroom doctor")
    if report["daemon"]["wanted"] and not report["daemon"]["running"]:
        found.append(f"no daemon runs, so {report['daemon']['stands_still']}; see: postroom up")
    if report["daemon"].get("other"):
        found.append(report["daemon"]["other"])
    found += _daemon_warnings(report["daemon"])
    for agent, words in report["daemon"].get("instead", {}).items():
        found.append(f"{agent} is not reached by the best route: {words}; see: postroom agents")
    if counts["uncertain"]:
        found.append(f"uncertain, and not handed over again: {counts['uncertain']}; see: postroom dead list")
    if counts["dead"]:
        found.append(f"dead letters: {counts['dead']}; see: postroom dead")
    return found


def _about_full_disk(held: int) -> str:
    able = "mail can be read, and nothing can be sent"
    if not held:
        able = "nothing can be sent, and the room has no reserve: mail may not be read"
    return f"the disk is full: {able}. Free some space, or forget old mail: postroom prune --before 30d --yes"


def _losses(journal: dict[str, Any]) -> list[str]:
    if journal["ahead"]:
        return ["the store has lost events that the journals have; see: postroom verify"]
    if not (lost := journal["lost"]):
        return []
    what = f"{count(lost['events'], 'event')}, with {count(lost['messages'], 'message')}"
    return [f"the store has lost what the journals have: {what}; see: postroom verify"]


def _daemon_warnings(daemon: dict[str, Any]) -> list[str]:
    """What the daemon itself complains of; one of another version may not tell."""
    from postroom.cli.daemon import missing

    told: list[dict[str, Any]] = [daemon.get(name) or {} for name in ("config", "logs", "page")]
    config, logs, page = told
    found: list[str] = []
    if config.get("problem"):
        found.append(f"the daemon goes by an earlier config: {config['problem']}; mend it, then: postroom up")
    if logs.get("problem"):
        found.append(f"the daemon's log cannot be written: {logs['problem']} ({daemon['log']})")
    elif logs.get("lost"):
        found.append(f"lines that the daemon's log could not take: {logs['lost']}; see {daemon['log']}")
    return found + missing(page, daemon.get("spans"))


def _text(report: dict[str, Any], context: "Context") -> str:
    store, counts, bell = report["store"], report["counts"], report["bell"]
    polls = f"polls every {bell.get('seconds', 0) * 1000:.0f} ms: there are no Unix sockets here"
    listeners = ", ".join(
        one["agent"] + (f" (process {one['process']})" if one["process"] else "")
        for one in report["listeners"]
    )
    rows = [
        ("home", report["home"]),
        ("config", report["config"] + ("" if os.path.exists(report["config"]) else " (there is none)")),
        ("store", f"{store['path']}, {_bytes(store['bytes'])}, WAL {_bytes(store['wal_bytes'])}"),
        ("room", f"{report['room']}, schema {store['schema']}, durability {store['durability']}"),
        ("here", _here(counts)),
        ("mail", f"{count(counts['messages'], 'message')}, {_open(counts)}"),
        ("dead letters", f"{counts['dead']:,}, and {counts['uncertain']:,} uncertain"),
        ("events", f"{counts['events'] + counts['messages']:,}"),
        ("journal", _about_journal(report["journal"])),
        ("bell", "rings by Unix sockets" if bell["kind"] != "polling" else polls),
        ("listening", listeners or "nobody"),
        ("daemon", _about_daemon(report["daemon"])),
    ]
    paint, fold = context.out.paint, context.out.fold
    text = "".join(f"{paint(name.ljust(13), 'dim')} {fold(value, 14)}\n" for name, value in rows)
    return text + "".join(f"{paint(fold(f'warning: {one}', 2), 'yellow')}\n" for one in report["warnings"])


def _here(counts: dict[str, int]) -> str:
    who = [f"{count(counts['agents'], 'agent')} in {count(counts['projects'], 'project')}"]
    if people := counts["people"]:
        who.append("1 person" if people == 1 else f"{people:,} people")
    return " and ".join(who)


def _open(counts: dict[str, int]) -> str:
    held = f", {counts['held']:,} held" if counts["held"] else ""
    return f"{counts['waiting']:,} waiting{held}, {counts['offered']:,} in hand"


def _bytes(size: int) -> str:
    for limit, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size} bytes"
