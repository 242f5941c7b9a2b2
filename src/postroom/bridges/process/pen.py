"""How text looks from here on: what an order for colours and styles does to a cell. Pure."""

from postroom.bridges.process.canvas import Cell

_ON = {
    "1": "bold", "2": "dim", "3": "italics", "4": "underscore", "5": "blink", "7": "reverse",
    "9": "strikethrough", "21": "underscore",
}  # fmt: skip
_OFF = {
    "22": ("bold", "dim"), "23": ("italics",), "24": ("underscore",), "25": ("blink",), "27": ("reverse",),
    "29": ("strikethrough",),
}  # fmt: skip
_COLOURS = {"38": "fg", "48": "bg", "58": ""}  # the last: of the line under the text


def dipped(pen: Cell, parameters: str) -> Cell:
    """The pen after an order; `38:2::1:2:3` and `38;2;1;2;3` are the same colour."""
    words = parameters.split(";")
    while words:
        word = words.pop(0)
        if ":" in word:
            pen = _coloured(pen, word.split(":")) if word[:2] in _COLOURS else _curled(pen, word)
        elif word in _COLOURS:
            size = 2 if words[:1] == ["5"] else 4
            pen, words = _coloured(pen, [word, *words[:size]]), words[size:]
        else:
            pen = _plainly(pen, word.lstrip("0") or "0")
    return pen


def _coloured(pen: Cell, words: list[str]) -> Cell:
    field, (kind, *values) = _COLOURS[words[0]], words[1:] or [""]
    values = [str(int(value)) if value.isdecimal() else "0" for value in values]
    wanted = {"5": 1, "2": 3}.get(kind)
    if not field or wanted is None or len(values) < wanted:
        return pen
    return pen._replace(**{field: ";".join([words[0], kind, *values[-wanted:]])})


def _curled(pen: Cell, word: str) -> Cell:
    return pen._replace(underscore=not word.endswith(":0")) if word.startswith("4:") else pen


def _plainly(pen: Cell, word: str) -> Cell:
    if word == "0":
        return Cell()
    if word in _ON:
        return pen._replace(**{_ON[word]: True})
    if word in _OFF:
        return pen._replace(**dict.fromkeys(_OFF[word], False))
    number = int(word) if word.isdecimal() else 0
    if 30 <= number <= 37 or 90 <= number <= 97:
        return pen._replace(fg=word)
    if 40 <= number <= 47 or 100 <= number <= 107:
        return pen._replace(bg=word)
    return pen._replace(fg="") if number == 39 else pen._replace(bg="") if number == 49 else pen
