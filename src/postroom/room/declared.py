"""Agents that the config declares: each has an address and a mailbox before anything of it has ever run.

`[agents.reviewer]` is one of every project, `[agents."shop/reviewer"]` one of that project alone.
"""

from typing import TYPE_CHECKING, Any, cast

from postroom.errors import InvalidAddress, InvalidValue, PostroomError
from postroom.model.address import Kind, parse
from postroom.room import directory

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.room.options import About
    from postroom.store.contract import ReadTx, WriteTx

_KEYS = ("role", "capabilities", "description", "supervisor")
_HINT = 'An agent is declared so: [agents.reviewer] role = "reviewer", capabilities = ["python"]'


def missing(room: "LocalRoom", tx: "ReadTx") -> bool:
    """Whether somebody is declared, for a project that the room knows, who has no address yet."""
    project = room.scope.find(tx)
    return any(
        tx.agent_named(_project(name, project), parse(name).name) is None
        for name in room.declared.agents
        if "/" in name or name.startswith("human:") or tx.project(project) is not None
    )


def introduce(room: "LocalRoom", tx: "WriteTx") -> None:
    """Give an address to everybody who is declared and has none. What is known of the others stays."""
    project = room.scope.find(tx)
    new: dict[str, About] = {}
    for name, table in room.declared.agents.items():
        about = _read(name, table)
        if tx.agent_named(_project(name, project), parse(name).name) is None:
            new[name] = about
    for name, about in new.items():
        directory.join(tx, name, room.scope, cast("About", {**about, "supervisor": ""}))
    for name, about in new.items():  # when they are all there
        if about.get("supervisor"):
            directory.join(tx, name, room.scope, about)


def _project(name: str, here: str) -> str:
    address = parse(name)
    return "" if address.kind is Kind.HUMAN else address.project or here


def _read(name: str, table: Any) -> "About":
    try:
        directory.personal(name)
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
        return cast("About", found)
    except (InvalidAddress, InvalidValue) as exc:
        raise InvalidValue(f"[agents.{name}] in the config: {exc}", hint=_HINT, agent=name) from None


def introduce_all(room: "LocalRoom") -> None:
    """On opening a room. Where that cannot be written, its readers still read."""
    try:
        if not missing(room, room.store.look()) or room.store.readonly:
            return
        with room.write() as tx:
            introduce(room, tx)
    except InvalidValue:
        raise
    except PostroomError:
        pass  # whatever is wrong with the room, the caller is about to be told
