"""Trees of mailboxes that a room serves: which agents have one there, and what appears in them later.

That a tree is served is noted beside the room, and who has a mailbox there is a manifest, as for every other
way to an agent. Who may write into a tree could make a directory of any name: so a name that somebody has
already, or one under it, becomes a mailbox only when a person says so.
"""

import json
import os
import platform
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from typing import NamedTuple

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.files import arrivals, left, note
from postroom.bridges.files import place as places
from postroom.bridges.files.box import ROUTE
from postroom.bridges.files.left import Left
from postroom.bridges.files.mark import forget as forget_mark
from postroom.bridges.files.shelf import MARK, Folder, Shelf
from postroom.bridges.files.withdrawal import clear as clear_letters
from postroom.bridges.files.withdrawal import withdraw
from postroom.bridges.manifest import Manifest
from postroom.clock import iso
from postroom.errors import BridgeError, NameTaken, PostroomError, Refused
from postroom.model.address import is_name, name
from postroom.model.context import session_id
from postroom.model.message import Agent, Json
from postroom.room import berth, directory
from postroom.room.directory import Scope
from postroom.room.local import LocalRoom

_TREES, _BEFORE = "trees", "trees-before"


class Tree(NamedTuple):
    """One tree, all of whose mailboxes are served, also those that come later."""

    place: str
    project: str


def put(room: LocalRoom, tree: Tree) -> None:
    """Serve a tree as a whole. Nothing is noted of one that another room serves, or that is out of reach."""
    _check_alone(room, tree.place)
    _mark(room, tree.place)
    note.put(room.home, _TREES, tree.place, tree._asdict())
    left.forget(room, tree.place, "")


def every(home: str) -> list[Tree]:
    found = note.every(home, _TREES)
    return [Tree(one["place"], one["project"]) for one in found if one.keys() == set(Tree._fields)]


def remove(room: LocalRoom, place: str) -> bool:
    """Whether that was one. Whose the directories in it were is remembered, if it is served again."""
    with room.write():  # alone: see `_serve`
        if here := served(room.home, place):
            owners = {str(one.details.get("folder")): one.agent for one in here}
            note.put(room.home, _BEFORE, place, {**dict.fromkeys(_before(room.home, place), ""), **owners})
        return note.remove(room.home, _TREES, place)


def _before(home: str, place: str) -> Json:
    """The ids of the agents whose its directories were when a tree was removed, and have not been since."""
    return note.get(home, _BEFORE, place)


# who has a mailbox


def served(home: str, place: str = "") -> list[Manifest]:
    """The mailboxes of a tree, or of all."""
    ours = [one for one in manifests.every(home) if one.bridge == ROUTE]
    return [one for one in ours if not place or one.details.get("tree") == place]


def add(room: LocalRoom, place: str, wanted: str, scope: Scope) -> tuple[Manifest, bool]:
    """Serve one mailbox, which a person has named; and whether that is new."""
    address, look = directory.agents_own(wanted), room.store.look()
    folder, agent = address.name, directory.find(look, address, scope.find(look))
    known = manifests.get(room.home, agent.id) if agent is not None else None
    for other in served(room.home, place):
        if other.details.get("folder") == folder and (agent is None or other.agent != agent.id):
            raise NameTaken(f"that is the mailbox of {other.address}", name=folder)
    if known is not None and known.bridge != ROUTE and not host.is_gone(known.process):
        raise NameTaken(
            f"{known.address} is reached by {known.bridge} already", name=known.address,
            hint=f"Let go of it first: postroom stop {known.address}",
        )  # fmt: skip
    _check_alone(room, place)
    with _made(place, folder) as shelf:
        if known is not None and known.details.get("tree") == place:
            return known, False
        _mark(room, place)
        if not shelf.has(Folder.INBOX, MARK):  # a program may see nothing else of a tree that is served
            shelf.write(Folder.INBOX, MARK, b"")
    with room.write() as tx:  # last: what could not be made leaves nobody behind
        agent = directory.join(tx, wanted, scope, {})
    return _serve(room, place, folder, agent), True


def _mark(room: LocalRoom, place: str) -> None:
    sign = {"served": True, "since": iso(room.now()), "room": _known_as(room)}
    places.mark(place, json.dumps(sign).encode())


def _serve(room: LocalRoom, place: str, folder: str, agent: Agent) -> Manifest:
    """The room's own lock is that of what is kept beside it, too: who adds must not forget another's."""
    manifest = _manifest(room, place, folder, agent)
    with room.write():
        manifests.put(room.home, manifest)
        note.put(room.home, _BEFORE, place, {**_before(room.home, place), folder: ""})
    left.forget(room, place, folder)
    return manifest


def _manifest(room: LocalRoom, place: str, folder: str, agent: Agent) -> Manifest:
    details = {"tree": place, "folder": folder, "place": f"{place.rstrip('/')}/{folder}"}
    return Manifest(agent.id, agent.address, ROUTE, details=details, cwd=room.home)


@contextmanager
def _made(place: str, folder: str) -> Generator[Shelf]:
    try:
        with closing(places.shelf(place, folder)) as shelf:
            shelf.make()
            yield shelf
    except FileNotFoundError as exc:
        raise BridgeError(f"{place} is not there any more", hint=f"Make it again: mkdir -p {place}") from exc


def _known_as(room: LocalRoom) -> str:
    """What tells a room from others, and nothing of where it is."""
    return sha256(os.fsencode(f"{platform.node()}:{os.path.realpath(room.home)}")).hexdigest()[:16]


def _check_alone(room: LocalRoom, place: str) -> None:
    """Two rooms would each take some of the letters."""
    if not served(room.home, place) and _is_others(room, place):
        raise Refused(
            f"another room serves {place}",
            hint=f"Remove it there: postroom mailbox remove. If there is none: rm {place}/.postroom/served",
        )


def _is_others(room: LocalRoom, place: str) -> bool:
    try:
        other = str(json.loads(places.marked(place)).get("room") or "")
    except (ValueError, AttributeError, RecursionError):
        return False
    return other not in ("", _known_as(room))


def objection(room: LocalRoom, tree: Tree, folder: str) -> str:
    """Why a directory in a tree is no mailbox by itself; empty: it may be."""
    if not is_name(folder) or name(folder) != folder:
        return "that is no name an agent can have"
    meant = f"if it is meant: postroom mailbox add {tree.place} {folder}"
    known = room.store.look().agent_named(tree.project, folder)
    if known is not None and _is_back(room, tree, folder, known):
        return ""
    if known is not None:
        return f"somebody has that name; {meant}"
    if "." in folder:
        return f"that name is under {folder.rpartition('.')[0]}'s; {meant}"
    return ""


def _is_back(room: LocalRoom, tree: Tree, folder: str, agent: Agent) -> bool:
    """Whether that directory was this agent's before the tree was removed, and nothing else reaches it."""
    is_carried = berth.carrier(room.store.look(), agent.id) is not None
    is_reached = is_carried or manifests.get(room.home, agent.id) is not None
    return not is_reached and _before(room.home, tree.place).get(folder) == agent.id


def appear(room: LocalRoom, tree: Tree) -> list[Manifest]:
    """Serve what is new in a tree, and nobody objects to; what that is."""
    return [made for _, made in attempts(room, tree) if isinstance(made, Manifest)]


def attempts(room: LocalRoom, tree: Tree) -> list[tuple[str, Manifest | PostroomError | str]]:
    """The same, with what is not served: an error, after which the next look may find it otherwise, or an
    objection, in words.
    """
    known = {one.details.get("folder") for one in served(room.home, tree.place)}
    return [(one, _attempt(room, tree, one)) for one in places.members(tree.place) if one not in known]


def _attempt(room: LocalRoom, tree: Tree, folder: str) -> Manifest | PostroomError | str:
    try:
        return objection(room, tree, folder) or add(room, tree.place, folder, Scope(tree.project))[0]
    except PostroomError as exc:
        return exc


def release(room: LocalRoom, manifest: Manifest) -> None:
    """Serve a mailbox no longer: its agent keeps its address and its mail. What lay unread in its inbox waits
    in the room again, what we kept there for ourselves goes, and all other files stay.

    A store that cannot be reached keeps what lies there, and then nobody can tell what becomes of it: `left`
    knows where that is so, and `clear` takes it away later.
    """
    place, folder = str(manifest.details.get("tree")), str(manifest.details.get("folder"))
    left.remember(room, place, folder, Left(manifest.agent, "its removal was cut short"))
    manifests.remove(room.home, manifest.agent)
    agent = room.store.look().agent(manifest.agent)
    why = places.absence(place, folder)
    try:
        with ExitStack() as stack:
            if agent is not None:  # whatever happens: a person may not want to wait for a store that is slow
                stack.callback(berth.vacate, room, agent)
                stack.callback(forget_mark, room.home, agent.id)
                stack.callback(arrivals.forget, room.home, agent.id)
            shelf = stack.enter_context(closing(places.shelf(place, folder)))
            if agent is not None:
                withdraw(room, agent, shelf)
            _leave(place, shelf)
        _unmark(room, place)
    except BridgeError as exc:
        why = str(exc)
    if why:
        left.remember(room, place, folder, Left(manifest.agent, why))
    else:
        left.forget(room, place, folder)


def clear(room: LocalRoom, place: str, named: set[str]) -> None:
    """Take away what a removal that was cut short, or found the store out of reach, has left in a tree.
    `named`: the ids of the agents that are meant; none: all that have been there.
    """
    here = {one.details.get("folder") for one in served(room.home, place)}
    stays, before = left.find(room.home, place), _before(room.home, place)
    meant = [folder for folder, one in stays.items() if not named or one.agent in named]
    gone = [folder for folder in {*meant, *(() if named else before)} if folder and folder not in here]
    try:
        is_others = _is_others(room, place)
        for folder in gone if not is_others else ():
            _clear_one(room, place, folder, stays.get(folder))
        _unmark(room, place)
        for folder in meant:
            why = "" if is_others else folder and places.absence(place, folder)
            if why:
                left.remember(room, place, folder, stays[folder]._replace(why=why))
            else:
                left.forget(room, place, folder)
    except BridgeError as exc:
        for folder in meant or [""]:
            agent = stays[folder].agent if folder in stays else ""
            left.remember(room, place, folder, Left(agent, str(exc)))


def _clear_one(room: LocalRoom, place: str, folder: str, one: Left | None) -> None:
    agent = room.store.look().agent(one.agent) if one is not None else None
    with closing(places.shelf(place, folder)) as shelf:
        if agent is not None:
            clear_letters(room, agent, shelf)
        _leave(place, shelf)


def _leave(place: str, shelf: Shelf) -> None:
    """The programs of a tree that has a room in it need what is there."""
    if not places.has_room(place):
        shelf.leave()


def _unmark(room: LocalRoom, place: str) -> None:
    if served(room.home, place) or note.has(room.home, _TREES, place):
        return
    if not _is_others(room, place):
        places.unmark(place)


def unfinished(room: LocalRoom, place: str, named: set[str]) -> list[Manifest]:
    """Mailboxes of a tree whose removal was cut short: nobody serves them, and what lies there is offered for
    ever. `named`: the ids of the agents that are meant; none: all that were there when the tree was removed.
    """
    look, before = room.store.look(), _before(room.home, place)
    folders = {str(agent): folder for folder, agent in before.items()}
    agents = [agent for one in named or folders if (agent := look.agent(one))]
    return [
        _manifest(room, place, folders.get(agent.id, agent.name), agent)
        for agent in agents
        if manifests.get(room.home, agent.id) is None
        and (session := look.session(session_id(ROUTE, agent.id))) is not None
        and session.ended_at is None
    ]
