"""How sessions are named: `runtime:session:main`, and `runtime:session:child` for a subagent in it.

The parts are the runtime's own ids. A context, where mail is shown at most once without a word of it, is a
session and an epoch.
"""

_MAIN = "main"


def session_id(runtime: str, session: str, child: str = "") -> str:
    """No subagent's name is taken for the main conversation, whatever its runtime calls it."""
    if not child:
        return f"{runtime}:{session}:{_MAIN}"
    plain = child.replace("~", "~0").replace(":", "~1")
    return f"{runtime}:{session}:{'~' if plain == _MAIN else ''}{plain}"


def context_id(session: str, epoch: int) -> str:
    return f"{session}:{epoch}"


def is_main(session: str) -> bool:
    """Whether this is a conversation of its own, and no subagent's."""
    return session.endswith(f":{_MAIN}")


def main_id(session: str) -> str:
    """The main conversation of which this is a subagent's, or which it is itself."""
    return f"{session.rpartition(':')[0]}:{_MAIN}"


def own_id(session: str) -> str:
    """What the runtime itself calls the session."""
    return session.split(":", 1)[1].rpartition(":")[0]


def is_part(session: str, whole: str) -> bool:
    """Whether one is the main conversation of the other, or a subagent in it."""
    return session.rpartition(":")[0] == whole.rpartition(":")[0]
