"""What stands: where a runtime is set up for a room, and the sessions that take part by that."""

from collections.abc import Iterator

from postroom.room.local import LocalRoom
from postroom.room.seat import TOOLS as BY_TOOLS
from postroom.room.seat import bears
from postroom.room.session import end
from postroom.setup import record
from postroom.setup.plan import Target, is_wired, target
from postroom.setup.record import HOOKS, TOOLS, Record


def here(home: str, name: str, *parts: str) -> list[Target]:
    """Where a runtime is set up: for the user, for this project, as a plugin; recorded or not.

    `parts`: only hooks, or only tools.
    """
    wanted = parts or (HOOKS, TOOLS)
    known = [each for each in record.every(home) if each.runtime == name and each.part in wanted]
    places = [(each.part, each.scope, each.directory) for each in known]
    plugins = [target(home, name, plugin=each.directory) for each in known if each.scope == "plugin"]
    others = [target(home, name, scope, part=part) for part in wanted for scope in ("user", "project")]
    return [
        one for one in others if (one.part, one.scope, one.directory) in places or is_wired(one)
    ] + plugins


def elsewhere(home: str, names: list[str]) -> list[Record]:
    """The set-ups for other projects, of some runtimes."""
    found = [each for each in record.every(home) if each.scope == "project" and each.runtime in names]
    return [each for each in found if each.directory != target(home, each.runtime, "project").directory]


def is_left(home: str, name: str) -> bool:
    """Whether a runtime still runs hooks of the room anywhere, as far as is known."""
    return bool(here(home, name, HOOKS) or any(each.part == HOOKS for each in elsewhere(home, [name])))


def living(room: LocalRoom, name: str = "") -> dict[str, str]:
    """The live sessions that run hooks of ours, by id, with the agents' addresses; of one runtime, if named.

    Who only looks (`hook plain`), or has only our tools, runs none.
    """
    return dict(_living(room, name))


def _living(room: LocalRoom, name: str) -> Iterator[tuple[str, str]]:
    with room.store.read() as tx:
        offset = 0
        while page := tx.agents(offset=offset):
            offset += len(page)
            for agent in page:
                for session in tx.sessions(agent.id):
                    if name in ("", session.runtime) and session.runtime != BY_TOOLS and bears(session):
                        yield session.id, f"{agent.project}/{agent.name}"


def end_all(room: LocalRoom, name: str) -> list[str]:
    """No hook of a runtime is left, so none will tell of its sessions' end: what they have open waits again.

    Returns whose they were. One that runs the hooks it began with takes part again at its next event.
    """
    found = living(room, name)
    with room.write() as tx:
        for each in found:
            session = tx.session(each)
            if session is not None and session.ended_at is None:  # a subagent's ends with its parent's
                end(room, tx, session)
    return list(dict.fromkeys(found.values()))
