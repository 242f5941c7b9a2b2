"""Agents that the config declares: each has an address and a mailbox before anything of it has ever run.

`[agents.reviewer]` is one of every project, `[agents."shop/reviewer"]` one of that project alone.
"""

from typing import TYPE_CHECKING, Any, cast

from postroom.errors import InvalidAddress, InvalidBody, InvalidValue, PostroomError, UnknownAgent
from postroom.model.address import ROOM, Kind, parse
from postroom.room import directory
from postroom.room.draft import check_text

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.room.options import About
    from postroom.store.contract import ReadTx, WriteTx

_KEYS = ("role", "capabilities", "description", "supervisor")
_HINT = 'An agent is declared so: [agents.reviewer] role = "reviewer", capabilities = ["python"]'


def introduce(room: "LocalRoom", tx: "WriteTx", names: list[str]) -> None:
    """Give these an address, as the config describes them; once, whatever becomes of them."""
    found = {name: _read(name, room.declared.agents[name]) for name in names}
    for name, about in found.items():
        directory.join(tx, name, room.scope, cast("About", {**about, "supervisor": ""}))
        tx.set_position(_note(name, room.scope.find(tx)), str(tx.next_seq - 1))
    for name, about in found.items():  # when they are all there
        if supervisor := about.get("supervisor"):
            try:
                directory.join(tx, name, room.scope, about)
            except UnknownAgent:
                text = f"[agents.{name}] in the config: nobody is called {supervisor!r}"
                raise InvalidValue(text, hint=f"Declare it, too: [agents.{supervisor}]", agent=name) from None


def missing(room: "LocalRoom", tx: "ReadTx", *, here: bool) -> list[str]:
    """Who is declared and has had no address yet; `here` also of a project that the room does not know.

    Who had one and goes by another name now has it still.
    """
    _check(room.declared.agents)
    project = room.scope.find(tx)
    is_known = here or tx.project(project) is not None
    return [
        name
        for name in room.declared.agents
        if (is_known or "/" in name or name.startswith("human:"))
        and tx.agent_named(_project(name, project), parse(name).name) is None
        and not tx.position(_note(name, project))
    ]


def _check(agents: dict[str, Any]) -> None:
    """Say what makes no sense, whoever is there already."""
    known: dict[str, str] = {}
    for name, table in agents.items():
        _read(name, table)
        if (other := known.setdefault(str(parse(name)), name)) != name:
            raise InvalidValue(f"[agents.{name}] in the config: [agents.{other}] is the same", hint=_HINT)


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
            texts = cast("list[Any]", value) if isinstance(value, list) else [value]
            if isinstance(value, list) != (key == "capabilities") or not all(
                isinstance(t, str) for t in texts
            ):
                form = "a list of texts" if key == "capabilities" else "a text"
                raise InvalidValue(f"{key} must be {form}, not {value!r}")
            for text in texts:
                check_text(key, text)
        if found.get("supervisor") == name:
            raise InvalidValue("nobody is above themselves")
        return cast("About", found)
    except (InvalidAddress, InvalidBody, InvalidValue) as exc:
        raise InvalidValue(f"[agents.{name}] in the config: {exc}", hint=_HINT, agent=name) from None


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
