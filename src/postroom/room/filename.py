"""Names of people's choice as names of files: any text, in a form that every file system keeps apart.

An escaped name has small letters, digits and `-_.%~` alone, so it is the same where case does not count, and
no path of several parts. A `%` and two digits stand for each other byte. It neither begins with a dot, a
hyphen or an underscore nor ends with a dot, it is no device of Windows, and none of its parts between dots
can be taken for what the name of a journal ends with. `~` is in none but as the end of a long name, which
is cut, or before a number, which tells two files of the same name apart.
"""

import re

LONGEST = 100  # characters of a name that is not cut; file systems take 255, and more is put around it
_CUT, _DIGITS = 60, 20

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
_NOT_FIRST = frozenset("-_.")
_DEVICES = frozenset((
    "con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10)),
))  # fmt: skip
_ENDING = re.compile(r"[0-9]+-[0-9]+|void[0-9]+|jsonl?|gz")  # parts that the name of a journal's file has
_ESCAPED = re.compile(
    rf"(?P<base>(?:[a-z0-9_.-]|%[0-9a-f]{{2}})+|%)(?P<cut>~[0-9a-f]{{{_DIGITS}}})?(?P<number>~[1-9][0-9]{{0,5}})?"
)


def escape(text: str) -> str:
    """The name of a file for a name; the same for no two."""
    name = _escaped(text)
    if len(name) <= LONGEST:
        return name
    from hashlib import sha256  # noqa: PLC0415 - for long names only

    cut = re.sub(r"%.?$", "", name[:_CUT]).rstrip(".")
    return f"{cut}~{sha256(_bytes(text)).hexdigest()[:_DIGITS]}"


def numbered(name: str, number: int) -> str:
    """The name of another file for the same name."""
    return f"{name}~{number}"


def unescape(name: str) -> str:
    """The name that was escaped; `ValueError` for what `escape` does not make, or has cut."""
    found = _ESCAPED.fullmatch(name)
    if found is None or found["cut"]:
        raise ValueError(f"{name!r} is not an escaped name")
    base = found["base"]
    text = "" if base == "%" else re.sub(rb"%(..)", _byte, base.encode()).decode("utf-8", "surrogatepass")
    if len(base) > LONGEST or _escaped(text) != base:
        raise ValueError(f"{name!r} is not an escaped name")
    return text


def is_escaped(name: str) -> bool:
    """Whether it can be the name of a file for a name."""
    found = _ESCAPED.fullmatch(name)
    if found is None:
        return False
    if not found["cut"]:
        try:
            unescape(name)
        except ValueError:
            return False
        return True
    base = found["base"]
    return len(base) <= _CUT and base != "%" and base[-1] != "." and _guarded(base) == base


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _byte(found: "re.Match[bytes]") -> bytes:
    return bytes((int(found[1], 16),))


def _escaped(text: str) -> str:
    if not text:
        return "%"
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in _bytes(text))
    return _guarded(f"{name[:-1]}%2e" if name[-1] == "." else name)


def _guarded(name: str) -> str:
    """With its first character, and dots within, escaped where they would mean something."""
    first, *others = name.split(".")
    joined = [first]
    for part in others:
        joined += ["%2e" if _ENDING.fullmatch(part) else ".", part]
    name = "".join(joined)
    if name[0] in _NOT_FIRST or name.partition(".")[0] in _DEVICES:
        name = f"%{ord(name[0]):02x}{name[1:]}"
    return name
