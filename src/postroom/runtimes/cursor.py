"""Cursor, in its window and as `cursor-agent`: it has our tools, and nothing shows it mail by itself.

It needs its maker's servers to answer anything, so what is here was read and not tried.
"""

from typing import TYPE_CHECKING

from postroom.runtimes.contract import Runtime
from postroom.runtimes.shape import beat, nothing

if TYPE_CHECKING:
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.wiring import Edit, Place, Wiring

RUNTIME = Runtime(
    name="cursor",
    title="Cursor",
    points=(),
    read=beat,
    say=nothing,
    programs=("cursor-agent", "cursor"),
    remark="It has our tools only, and was not tried: nothing shows it mail that it does not ask for.",
)


def profile() -> "Profile":
    from postroom.runtimes.screen import Composer, Profile  # noqa: PLC0415 - for terminals

    return Profile(Composer(r"(?!)"))  # what its screen means is not known, so nothing is typed into it


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(tools=_tools)


def _tools(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import served  # noqa: PLC0415

    return served(f"{place.project or place.user}/.cursor/mcp.json", "mcpServers", value=place.tools())
