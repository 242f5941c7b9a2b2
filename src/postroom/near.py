"""Near matches: what somebody may have meant who named what is not there. Loaded only for who is refused."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_MOST_BEGIN, _MOST_ALIKE = 5, 3


def near(wanted: str, known: Iterable[str]) -> list[str]:
    """Names that begin so; if none does, names that are written much alike, the most alike first."""
    wanted, names = wanted.lower(), list(dict.fromkeys(known))
    begin = [name for name in names if name.startswith(wanted)] if wanted else []
    return begin[:_MOST_BEGIN] or get_close_matches(wanted, names, _MOST_ALIKE, 0.6)


def either(names: Sequence[str]) -> str:
    """`a, b or c`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def meant(names: Sequence[str]) -> str:
    """The question to whoever may have meant one of these; empty where nothing is near."""
    return f"Did you mean {either(names)}?" if names else ""
