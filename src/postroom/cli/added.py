"""What came of `postroom mailbox add`: which mailboxes are served, which are not, and why."""

from typing import TYPE_CHECKING, Any, NamedTuple

from postroom.errors import MailboxUnreachable, PostroomError

if TYPE_CHECKING:
    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context

_CREDENTIALS = "Credentials are found where its library looks: in the environment, and in its own files."


class Added(NamedTuple):
    """Of one tree."""

    place: str
    is_whole: bool  # it is served as a whole: whatever was in the way is looked at again
    served: "list[tuple[Manifest, bool]]"  # and whether that is new
    failed: list[tuple[str, PostroomError]]  # by name
    others: list[tuple[str, str]]  # directories that are served only if they are named, and why
    unseen: PostroomError | None = None  # why the tree cannot be looked at now

    @property
    def is_nothing(self) -> bool:
        return not self.served and not self.is_whole

    @property
    def is_all(self) -> bool:
        """Whether all that was wanted is served."""
        return not self.failed and self.unseen is None

    def hint(self, exc: PostroomError) -> str:
        return exc.hint if self.is_whole or not isinstance(exc, MailboxUnreachable) else advice(exc)


def advice(exc: MailboxUnreachable) -> str:
    """What may help where nothing waits yet that could be looked for again."""
    return exc.advice or _CREDENTIALS


def named(where: str, names: list[str], context: "Context") -> Added:
    """Serve those. Raises only where nothing was added, and all for one reason."""
    from postroom.bridges.files import tree

    room, found = context.room(), Added(where, False, [], [], [])
    for name in dict.fromkeys(names):
        try:
            found.served.append(tree.add(room, where, name, room.scope))
        except PostroomError as exc:
            found.failed.append((name, exc))
    reasons = {str(exc): exc for _, exc in found.failed}
    if found.is_nothing and len(reasons) == 1:
        raise reasons.popitem()[1]
    return found


def whole(where: str, context: "Context") -> Added:
    """Serve a tree as a whole, also what appears in it later. Raises only where that could not be noted."""
    from postroom.bridges.files import tree

    room = context.room()
    with room.write() as tx:
        meant = tree.Tree(where, room.scope.ensure(tx))
    tree.put(room, meant)
    found = Added(where, True, [(one, False) for one in tree.served(room.home, where)], [], [])
    try:
        tried = tree.attempts(room, meant)
    except PostroomError as exc:
        return found._replace(unseen=exc)
    for name, one in tried:
        if isinstance(one, PostroomError):
            found.failed.append((name, one))
        elif isinstance(one, str):
            found.others.append((name, one))
        else:
            found.served.append((one, True))
    return found


def tell(found: Added, context: "Context") -> None:
    if context.json:
        context.put_json(_document(found))
        return
    for one, new in found.served:
        name = context.out.paint(one.address, "bold")
        context.put(f"{name}  {one.details['place']}{'' if new else ' (served before)'}\n")
    for name, exc in found.failed:
        context.put(_line(name, f"not served: {exc}. {found.hint(exc)}", context))
    if found.unseen is not None:
        words = f"it cannot be looked at now: {found.unseen}. {found.hint(found.unseen)}"
        context.put(_line(found.place, words, context))
    for name, why in found.others:
        context.note(f"not served: {name}: {why}")
    if found.is_whole:
        context.note(f"Directories that appear in {found.place} are served, too.")
    if found.is_nothing:
        context.note("Nothing was added.")


def _line(name: str, words: str, context: "Context") -> str:
    from postroom.cli.output import one_line

    name = one_line(name)
    text = context.out.fold(f"{name}: {one_line(words.rstrip())}", 2)
    return context.out.paint(name, "bold") + text.removeprefix(name) + "\n"


def _document(found: Added) -> dict[str, Any]:
    served = [{"agent": one.address, "place": one.details["place"], "new": new} for one, new in found.served]
    failed = [
        {"name": name, "why": str(exc), "error": exc.code, "hint": found.hint(exc)}
        for name, exc in found.failed
    ]
    others = [{"name": name, "why": why} for name, why in found.others]
    return {
        "tree": found.place, "added": served, "left_out": [*failed, *others], "all": found.is_whole,
        "why": "" if found.unseen is None else str(found.unseen),
    }  # fmt: skip
