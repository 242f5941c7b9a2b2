"""What a server said, taken as what it should be: nothing where it is something else."""

from typing import Any

from postroom.model.message import Json


def table(value: Any) -> Json:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - of a server


def rows(value: Any) -> list[Json]:
    found: list[Any] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - of a server
    return [one for one in found if isinstance(one, dict)]
