"""What is held for somebody, told by whatever shows mail: no mail is not nothing."""

from typing import TYPE_CHECKING, Any

from postroom.cli.output import count

if TYPE_CHECKING:
    from postroom.cli.context import Context

Held = list[tuple[str, int, int | None]]

_WHY = {
    "muted": "you are muted (postroom mute --off)",
    "quiet_hours": "you have quiet hours",
    "digest": "they will come together",
    "rate_limited": "you get many",
    "deferred": "you refused it for now",
    "api_error": "the API refuses your model's requests; then the next attempt is made",
}


def note(context: "Context") -> None:
    """Say what is held for the caller, if anything is."""
    if not context.json and not context.quiet:
        for line in lines(context.room().held()):
            context.note(line)


def lines(held: Held) -> list[str]:
    return [_line(*one) for one in held]


def _line(reason: str, number: int, due: int | None) -> str:
    from postroom.cli.moment import clock

    until = f", the first until {clock(due)}" if due is not None else ""
    return f"{count(number, 'message')} held{until}: {_WHY.get(reason, reason)}"


def documents(held: Held) -> list[dict[str, Any]]:
    from postroom.clock import iso

    return [{"reason": reason, "messages": number, "due_at": iso(due)} for reason, number, due in held]
