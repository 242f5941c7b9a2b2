"""What a conversation is told of whose it is, once, before anything else."""

from postroom import config
from postroom.model.message import Agent, Session
from postroom.protocol.guide import GUIDE


def greeting(home: str, agent: Agent, session: Session, *, is_child: bool) -> str:
    if is_child:
        return f"Your own address in Postroom is {agent.name}.\n"
    room = "" if config.is_usual(home) else f"Give each command --home {home}. "
    return (
        f"Your address in Postroom is {agent.name} (project {agent.project}). {in_vain(session)}{room}"
        f"Mail is shown to you by itself: do not poll or wait for it.\n{GUIDE}"
    )


def in_vain(session: Session) -> str:
    """Why it does not bear the name that it was to bear."""
    asked = session.details.get("asked")
    if not asked:
        return ""
    from postroom.protocol.plain import one_line  # noqa: PLC0415 - rarely

    name = one_line(asked["name"], 64)
    wanted = f"{name} was asked for ({asked['by']}), but " if name else ""
    return f"{wanted}{one_line(asked['why'], 300)}. "
