"""Formats of tmux: facts asked for by one, whatever they hold, and words that must not be taken for one.

Names, titles and labels are what others make them. tmux puts a backslash before each special character of a
fact (`#{q:…}`), so that a bare space ends a fact, and a bare `|` at the end of a line all of them.
"""

import re

_END = "|"
_FACT = re.compile(r"((?:\\.|[^\\ |])*)( |\|\n)", re.DOTALL)
_SPECIAL = re.compile(r"#+\[|[#,}]")


def asking(facts: tuple[str, ...]) -> str:
    """The format that has these facts printed on one line, for `answers`."""
    return " ".join(f"#{{q:{fact}}}" for fact in facts) + _END


def answers(said: str, facts: tuple[str, ...]) -> list[dict[str, str]]:
    """Facts as often as they were printed; `ValueError` where that is something else."""
    found: list[dict[str, str]] = []
    while said:
        one, said = answer(said, facts)
        found.append(one)
    return found


def answer(said: str, facts: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """Facts that were printed, and what was printed after them; `ValueError` where it is something else."""
    values, at = list[str](), 0
    for fact in facts:
        match = _FACT.match(said, at)
        if match is None or (match[2] == " ") != (len(values) + 1 < len(facts)):
            raise ValueError(f"no {fact} in {said[:80]!r}")
        values.append(re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL))
        at = match.end()
    return dict(zip(facts, values, strict=True)), said[at:]


def literal(text: str) -> str:
    """A text as tmux takes it where it expands formats: a directory `#(…)` would else be run.

    It leaves `#[` as it is, however many there are of the first.
    """
    return _SPECIAL.sub(lambda found: found[0] if found[0][-1] == "[" else f"#{found[0]}", text)
