"""Gemini CLI (0.61.0). Nothing wakes it when it is idle; its timeouts are in milliseconds."""

from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Point, Runtime, Said, Words
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.runtimes.wiring import Edit, Place, Read, Wiring

_ANSWERED = ("AfterModel", "AfterAgent")


def read(event: str, stdin: Json) -> Beat:
    return Beat(
        session=str(stdin.get("session_id") or ""),
        cwd=str(stdin.get("cwd") or ""),
        transcript=str(stdin.get("transcript_path") or ""),
        source=str(stdin.get("source") or ""),
        prompt=stdin.get("prompt") if event == "BeforeAgent" else None,
    )


def say(point: Point, words: Words) -> Said:
    if not words.text:
        return Said()
    if point.kind is Kind.STOP:
        return Said(encode({"decision": "block", "reason": words.text}))
    return Said(
        encode({"hookSpecificOutput": {"hookEventName": point.event, "additionalContext": words.text}})
    )


RUNTIME = Runtime(
    name="gemini",
    title="Gemini CLI",
    points=(
        Point("SessionStart", Kind.START, _ANSWERED),
        Point("BeforeAgent", Kind.PROMPT, _ANSWERED),
        Point("AfterTool", Kind.TOOL, _ANSWERED),
        Point("AfterAgent", Kind.STOP, _ANSWERED),
        Point("Notification", Kind.PERMISSION),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=say,
    programs=("gemini", "node"),
    milliseconds=True,
)


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(_edits, _trusted, ("-p",))


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import HOOKS, Edit, nested  # noqa: PLC0415

    settings = f"{place.project or place.user}/.gemini/settings.json"
    return [Edit(settings, {"hooks": nested(RUNTIME, place)}, HOOKS)]


def _trusted(place: "Place", read: "Read") -> bool | None:
    from postroom.runtimes.wiring import is_trusted_folder  # noqa: PLC0415

    return is_trusted_folder(place, read, f"{place.user}/.gemini")
