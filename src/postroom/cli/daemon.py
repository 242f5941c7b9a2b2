"""The room's daemon, as commands need it: some may start it, all others say how it is started."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import Json


def start(context: "Context") -> None:
    """See that there is one, for who may start it; that it was started is said."""
    from postroom.daemon.instance import ensure

    if ensure(context.room().home):
        context.note("the daemon was started")
    else:
        warn(context)


def warn_of_port(page: "Json", context: "Context") -> None:
    """Say so where the environment names a port for the page, and the daemon that runs has another: only one
    that is started there reads it.
    """
    import os

    from postroom import config

    name = config.environment_name("http_port")
    if name not in os.environ:
        return
    port = config.settings(context.room().home).http_port
    if not _is_at(page, port):
        context.note(
            f"warning: the daemon that runs was started without {name}={port}. To have it there: "
            f"postroom down; {name}={port} postroom up"
        )


def _is_at(page: "Json", port: int) -> bool:
    """Whether it serves its page at that port, or tried to; also where it does not say."""
    from urllib.parse import urlsplit

    from postroom.daemon.place import TURNED_OFF

    if url := page.get("url"):
        return urlsplit(str(url)).port == port
    why = page.get("problem")
    return (port == 0) if why == TURNED_OFF else not why or f"port {port} " in why


def warn(context: "Context") -> bool:
    """Say so where the daemon that runs is of another version: it may not know what it is asked for."""
    from postroom.daemon.control import ask, objection

    words = objection(ask(context.room().home, "ping").get("edition"))
    if words:
        context.note(f"warning: {words}")
    return bool(words)


def missing(page: "Json", spans: "Json | None") -> list[str]:
    """What the daemon should do by its settings, and does not; by what it told of these."""
    from postroom.daemon.place import TURNED_OFF

    found: list[str] = []
    if page.get("problem") not in (None, TURNED_OFF):
        found.append(f"the page is not served: {page['problem']}. {page.get('hint') or ''}".rstrip())
    if spans and spans["problem"]:
        found.append(f"otel is on, and no spans are told: {spans['problem']}")
    return found


def must_run(home: str) -> None:
    """Raises `BridgeError` where there is none, for who must not start it."""
    from postroom.daemon.place import running
    from postroom.errors import BridgeError

    if not running(home):
        raise BridgeError("no daemon runs, and nothing else can do that", hint="Start it: postroom up")
