"""Trees of mailboxes that a room serves: which agents have one there, and what appears in them later.

That a tree is served is noted beside the room, and who has a mailbox there is a manifest, as for every other
way to an agent. Who may write into a tree could make a directory of any name: so a name that somebody has
already, or one under it, becomes a mailbox only when a person says so.
"""

import json
import os
import platform
from contextlib import closing
from hashlib import sha256
from typing import NamedTuple

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.files import place as places
from postroom.bridges.files.box import ROUTE
from postroom.bridges.manifest import Manifest
from postroom.clock import iso
from postroom.errors import NameTaken, PostroomError, Refused
from postroom.model.address import is_name, name
from postroom.model.message import Agent
from postroom.room import berth, directory
from postroom.room.directory import Scope
from postroom.room.local import LocalRoom

_FOLDER = "trees"


class Tree(NamedTuple):
    """One tree, all of whose mailboxes are served, also those that come later."""

    place: str
    project: str


def put(home: str, tree: Tree) -> None:
    host.private_directory(config.beside(home, _FOLDER))
    host.replace(_path(home, tree.place), json.dumps(tree._asdict()).encode())


def every(home: str) -> list[Tree]:
    try:
        names = sorted(os.listdir(config.beside(home, _FOLDER)))
    except OSError:
        return []
    return [tree for name in names if name[0] != "." and (tree := _get(config.beside(home, _FOLDER, name)))]


def _get(path: str) -> Tree | None:
    try:
        with open(path, encoding="utf-8") as file:
            return Tree(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def remove(home: str, place: str) -> bool:
    """Whether that was one."""
    try:
        os.unlink(_path(home, place))
    except FileNotFoundError:
        return False
    return True


def _path(home: str, place: str) -> str:
    return config.beside(home, _FOLDER, sha256(os.fsencode(place)).hexdigest()[:16])


# who has a mailbox


def served(home: str, place: str = "") -> list[Manifest]:
    """The mailboxes of a tree, or of all."""
    ours = [one for one in manifests.every(home) if one.bridge == ROUTE]
    return [one for one in ours if not place or one.details.get("tree") == place]


def add(room: LocalRoom, place: str, wanted: str, scope: Scope) -> tuple[Manifest, bool]:
    """Serve one mailbox, which a person has named; and whether that is new."""
    folder = directory.agents_own(wanted).name
    with room.write() as tx:
        agent = directory.join(tx, wanted, scope, {})
    for other in served(room.home, place):
        if other.details.get("folder") == folder and other.agent != agent.id:
            raise NameTaken(f"that is the mailbox of {other.address}", name=folder)
    known = manifests.get(room.home, agent.id)
    if known is not None and known.bridge != ROUTE and not host.is_gone(known.process):
        raise NameTaken(
            f"{agent.address} is reached by {known.bridge} already", name=agent.address,
            hint=f"Let go of it first: postroom stop {agent.address}",
        )  # fmt: skip
    if known is not None and known.details.get("tree") == place:
        _make(place, folder)
        return known, False
    return _serve(room, place, folder, agent), True


def _serve(room: LocalRoom, place: str, folder: str, agent: Agent) -> Manifest:
    _check_alone(room, place)
    _make(place, folder)
    note = {"served": True, "since": iso(room.now()), "room": _known_as(room)}
    places.mark(place, json.dumps(note).encode())
    details = {"tree": place, "folder": folder, "place": f"{place.rstrip('/')}/{folder}"}
    manifest = Manifest(agent.id, agent.address, ROUTE, details=details, cwd=room.home)
    manifests.put(room.home, manifest)
    return manifest


def _make(place: str, folder: str) -> None:
    with closing(places.shelf(place, folder)) as shelf:
        shelf.make()


def _known_as(room: LocalRoom) -> str:
    """What tells a room from others, and nothing of where it is."""
    return sha256(os.fsencode(f"{platform.node()}:{os.path.realpath(room.home)}")).hexdigest()[:16]


def _check_alone(room: LocalRoom, place: str) -> None:
    """Two rooms would each take some of the letters."""
    if served(room.home, place):
        return
    try:
        other = str(json.loads(places.marked(place)).get("room") or "")
    except (ValueError, AttributeError, RecursionError):
        return
    if other and other != _known_as(room):
        raise Refused(
            f"another room serves {place}",
            hint=f"Remove it there: postroom mailbox remove. If there is none: rm {place}/.postroom/served",
        )


def objection(room: LocalRoom, tree: Tree, folder: str) -> str:
    """Why a directory in a tree is no mailbox by itself; empty: it may be."""
    if not is_name(folder) or name(folder) != folder:
        return "that is no name an agent can have"
    meant = f"if it is meant: postroom mailbox add {tree.place} {folder}"
    if room.store.look().agent_named(tree.project, folder) is not None:
        return f"somebody has that name; {meant}"
    if "." in folder:
        return f"that name is under {folder.rpartition('.')[0]}'s; {meant}"
    return ""


def appear(room: LocalRoom, tree: Tree) -> list[Manifest]:
    """Serve what is new in a tree, and nobody objects to; what that is."""
    known = {one.details.get("folder") for one in served(room.home, tree.place)}
    new = [one for one in places.members(tree.place) if one not in known and not objection(room, tree, one)]
    made: list[Manifest] = []
    for folder in new:
        try:
            made.append(add(room, tree.place, folder, Scope(tree.project))[0])
        except PostroomError:
            continue  # the next look will tell
    return made


def release(room: LocalRoom, manifest: Manifest) -> None:
    """Serve a mailbox no longer: its agent keeps its address and its mail, and the files stay."""
    manifests.remove(room.home, manifest.agent)
    agent = room.store.look().agent(manifest.agent)
    if agent is not None:
        berth.vacate(room, agent)
    place = str(manifest.details.get("tree"))
    if not served(room.home, place):
        places.unmark(place)
