"""`postroom adopt --release`: letting go of agents, by their names or by their panes."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context


class _Held(NamedTuple):
    """What a word means."""

    where: str
    kept: "list[Manifest]"
    pane: str = ""  # bears a name, though nobody keeps it


def release(args: "argparse.Namespace", context: "Context") -> int:
    """Let go of what is held; what nobody held is said to be so."""
    from postroom.bridges.adoption import unlabel
    from postroom.daemon.launch import let_go

    released, lines = list[str](), list[str]()
    for word in dict.fromkeys(args.panes):
        found = _held(word, args, context)
        lines.append(f"{found.where}: {_fate(found)}\n")
        for each in found.kept:
            let_go(context.room(), each)
        if found.pane:
            unlabel(found.pane)
        if found.kept or found.pane:
            released.append(found.where)
    if context.json:
        context.put_json({"released": released})
    else:
        context.put("".join(lines))
    return 0


def _fate(found: _Held) -> str:
    from postroom import host

    if not found.kept and not found.pane:
        return "nobody held it"
    if found.kept and all(host.is_gone(each.process) for each in found.kept):
        return "let go; nothing ran there any more"
    return "let go; what runs there runs on"


def _held(word: str, args: "argparse.Namespace", context: "Context") -> _Held:
    """A name needs no tmux: its server may have ended."""
    from postroom.bridges.manifest import every
    from postroom.cli.pane import candidates, named, server
    from postroom.errors import BridgeError, NotFound

    known, kept = _by_name(word, context), every(context.room().home)
    own = [each for each in kept if each.agent == known]
    if own:
        return _Held(str(own[0].details.get("place") or own[0].address), own)
    try:
        one = named(word, candidates(args, context), args)
    except (BridgeError, NotFound):
        lost = [each for each in kept if _was_in(each, word, server(args).socket)]
        if not lost and not known:
            raise
        return _Held(word, lost)
    there = [each for each in kept if each.pane == str(one.target)]
    return _Held(one.place, there, "" if there or not one.label else str(one.target))


def _by_name(word: str, context: "Context") -> str:
    """The id of an agent that is called so; empty: nobody is."""
    from postroom.errors import InvalidAddress, UnknownAgent

    try:
        return context.room().known(word).id
    except (InvalidAddress, UnknownAgent):
        return ""


def _was_in(manifest: "Manifest", word: str, socket: str) -> bool:
    pane, _, rest = manifest.pane.partition("@")
    return word in (pane, manifest.details.get("place")) and rest.rpartition(",")[0] == socket
