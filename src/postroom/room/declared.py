"""Agents that the config declares: each has an address and a mailbox before anything of it has ever run.

`[agents.reviewer]` is one of every project, `[agents."shop/reviewer"]` one of that project alone, and so is
one whose `directory` is in a repository: of the project of that. With
`runtime` or `directory` it is also whom a session is that begins there, if nobody else is (`bearer.py`). What
brings it up (`command`, `pane`, …) is kept here and read by `postroom up`.
"""

import os
from typing import TYPE_CHECKING, Any, cast

from postroom import config
from postroom.errors import InvalidAddress, InvalidBody, InvalidValue, PostroomError
from postroom.model.address import ROOM, Kind, parse
from postroom.room import directory
from postroom.room.directory import Scope
from postroom.room.draft import check_text

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.room.options import About
    from postroom.store.contract import ReadTx, WriteTx

_ABOUT = ("role", "capabilities", "description", "supervisor")
_WHERE = ("runtime", "directory")
_RUN = ("bridge", "session", "pane", "command", "restart", "profile", "channel")
_KEYS = (*_ABOUT, *_WHERE, *_RUN)
_LISTS = {"capabilities": (list,), "command": (list, str)}  # all others are texts
_HINT = 'An agent is declared so: [agents.reviewer] role = "reviewer", capabilities = ["python"]'


def introduce(room: "LocalRoom", tx: "WriteTx", names: list[str]) -> None:
    """Give these an address, as the config describes them; once, whatever becomes of them."""
    here = room.scope.find(tx)
    for name in names:
        _join(room, tx, name, here)
    for name in names:  # when they are all there
        _place_under(room, tx, name, here)


def _join(room: "LocalRoom", tx: "WriteTx", name: str, here: str) -> None:
    if not _is_there(tx, name, here) and not tx.position(f"before.{_note(name, here)}"):
        about = _read(name, room.declared.agents[name])
        directory.join(tx, name, room.scope, cast("About", {**about, "supervisor": ""}))
    _note_down(tx, name, here)


def _place_under(room: "LocalRoom", tx: "WriteTx", name: str, here: str) -> None:
    """Its supervisor is one of its own project, where it is given an address if it is declared for all."""
    about = _read(name, room.declared.agents[name])
    agent = tx.agent_named(_project(name, here), parse(name).name)
    if not (above := about.get("supervisor")) or agent is None or agent.supervisor:
        return
    home = Scope(_project(name, here) or here)
    whole = above if "/" in above or above.startswith("human:") else f"{home.find(tx)}/{above}"
    if not _is_there(tx, whole, here):
        if above not in room.declared.agents:
            text = f"[agents.{name}] in the config: nobody is called {above!r}"
            raise InvalidValue(text, hint=f"Declare it, too: [agents.{above}]", agent=name)
        theirs = _read(above, room.declared.agents[above])
        directory.join(tx, whole, home, cast("About", {**theirs, "supervisor": ""}))
        _note_down(tx, whole, here)
    directory.join(tx, agent.address, room.scope, {"supervisor": whole})


def _is_there(tx: "ReadTx", name: str, here: str) -> bool:
    return tx.agent_named(_project(name, here), parse(name).name) is not None


def meant(room: "LocalRoom", tx: "ReadTx", runtime: str, cwd: str) -> list[str]:
    """Whom the config means by a session of a runtime in a directory, in the order in which it says so."""
    check(room.declared.agents)
    here, found = room.scope.find(tx), list[str]()
    for name, table in room.declared.agents.items():
        is_placed = any(key in table for key in _WHERE) and _project(name, here) == here
        if is_placed and table.get("runtime", runtime) == runtime and _holds(table.get("directory"), cwd):
            found.append(name)
    return found


def _holds(place: str | None, cwd: str) -> bool:
    """Whether a directory is that place, or in it. What is relative is so to the checkout around it."""
    if place is None:
        return True
    whole = os.path.realpath(os.path.join(config.worktree(cwd)[0], os.path.expanduser(place)))
    return f"{os.path.realpath(cwd)}/".startswith(f"{whole.rstrip('/')}/")


def introduced(room: "LocalRoom", tx: "WriteTx", name: str) -> bool:
    """Whether a declared agent has its address now; not if it was given one, and has another name since."""
    here = room.scope.find(tx)
    if not _is_there(tx, name, here) and not tx.position(_note(name, here)):
        introduce(room, tx, [name])
    return _is_there(tx, name, here)


def missing(room: "LocalRoom", tx: "ReadTx", *, here: bool) -> list[str]:
    """Who is declared and was not introduced yet; `here` also of a project that the room does not know.

    Who had an address before is to be noted, too: it may have another name later, and has no twin then.
    """
    check(room.declared.agents)
    project = room.scope.find(tx)
    is_known = here or tx.project(project) is not None
    return [
        name
        for name in room.declared.agents
        if (is_known or "/" in name or name.startswith("human:"))
        and not tx.position(_note(name, project))
        and belongs(room, tx, name)
    ]


def belongs(room: "LocalRoom", tx: "ReadTx", name: str) -> bool:
    """Whether a declared agent is of this project, or of one that it names itself.

    Where its `directory` is in a repository, it is of that one's project and of no other.
    """
    place = os.path.expanduser(room.declared.agents[name].get("directory", ""))
    if "/" in name or not os.path.isabs(place) or not (root := config.project_root(place)):
        return True
    return Scope(None, root).find(tx) == room.scope.find(tx)


def check(agents: dict[str, Any]) -> None:
    """Say what makes no sense, whoever is there already."""
    known: dict[str, str] = {}
    for name, table in agents.items():
        _read(name, table)
        if (other := known.setdefault(str(parse(name)), name)) != name:
            raise InvalidValue(f"[agents.{name}] in the config: [agents.{other}] is the same", hint=_HINT)


def _note_down(tx: "WriteTx", name: str, here: str) -> None:
    """Note that somebody was introduced, as an event: a room rebuilt from its journals knows it, too.

    Whom an earlier version introduced may have another name since: then the event is about no agent.
    """
    agent = tx.agent_named(_project(name, here), parse(name).name)
    tx.append("agent.declared", agent.id if agent else "", payload={"as": _note(name, here)})


def _note(name: str, here: str) -> str:
    """Under which it is noted, beside the state, that somebody was introduced."""
    return f"declared.{_project(name, here)}/{parse(name).name}"


def _project(name: str, here: str) -> str:
    address = parse(name)
    return "" if address.kind is Kind.HUMAN else address.project or here


def _read(name: str, table: Any) -> "About":
    try:
        if directory.personal(name).name == ROOM:
            raise InvalidValue(f"{ROOM!r} is the room itself")
        if not isinstance(table, dict):
            raise InvalidValue("it is no table")
        found = cast("dict[str, Any]", table)
        for key, value in found.items():
            if key not in _KEYS:
                raise InvalidValue(f"there is no {key!r}, only {', '.join(_KEYS)}")
            _check_value(key, value)
        _check_place(name, found)
        if found.get("supervisor"):
            above, who = directory.personal(found["supervisor"]), parse(name)
            if above.name == who.name and (not above.project or not who.project or above[:2] == who[:2]):
                raise InvalidValue("nobody is above themselves")
        return cast("About", {key: value for key, value in found.items() if key in _ABOUT})
    except (InvalidAddress, InvalidBody, InvalidValue) as exc:
        raise InvalidValue(f"[agents.{name}] in the config: {exc}", hint=_HINT, agent=name) from None


def _check_value(key: str, value: Any) -> None:
    texts = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not isinstance(value, _LISTS.get(key, (str,))) or not all(isinstance(text, str) for text in texts):
        forms = {"capabilities": "a list of texts", "command": "a text, or a list of texts"}
        raise InvalidValue(f"{key} must be {forms.get(key, 'a text')}, not {value!r}")
    for text in texts:
        check_text(key, text)
    if key in _RUN and not all(texts or [""]):
        raise InvalidValue(f"{key} is empty")


def _check_place(name: str, found: dict[str, Any]) -> None:
    if (runtime := found.get("runtime")) is not None:
        from postroom.runtimes import NAMES  # noqa: PLC0415 - where one is named

        if runtime not in NAMES:
            raise InvalidValue(f"there is no runtime {runtime!r}, only {', '.join(NAMES)}")
    if any(key in found for key in (*_WHERE, *_RUN)) and parse(name).kind is Kind.HUMAN:
        raise InvalidValue(f"a person has no sessions; agents have names like {parse(name).name}")


def introduce_all(room: "LocalRoom") -> None:
    """On opening a room. Where that cannot be written, its readers still read."""
    try:
        if room.store.readonly or not missing(room, room.store.look(), here=False):
            return
        with room.write() as tx:
            introduce(room, tx, missing(room, tx, here=False))
    except InvalidValue:
        raise
    except PostroomError:
        pass  # whatever is wrong with the room, the caller is about to be told
