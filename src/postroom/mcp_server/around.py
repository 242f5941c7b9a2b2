"""What surrounds an agent that has our tools: as for hooks, where a server of its runtime's hosts it."""

from postroom import host
from postroom.hooks import around as hooked
from postroom.room.guest import Talk
from postroom.room.seat import Around
from postroom.runtimes import load


def around(one: Talk | None, cwd: str, name: str) -> Around:
    """`name`: from the environment of who speaks for it; where a server has started that, another's."""
    runtime = load(one.runtime) if one else None
    daemon = runtime.daemon() if runtime and runtime.daemon else None
    if one and runtime and daemon and daemon.word in host.started_with(one.process)[0]:
        return hooked.around(runtime, one.process, cwd)
    return Around(name=name)
