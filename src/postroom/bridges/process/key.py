"""Keys by their names in tmux, and the bytes that a terminal sends for them."""

from postroom.errors import BridgeError

_NAMED = {
    "Enter": "\r", "Escape": "\x1b", "Tab": "\t", "BTab": "\x1b[Z", "BSpace": "\x7f", "Space": " ",
    "IC": "\x1b[2~", "DC": "\x1b[3~", "PPage": "\x1b[5~", "PageUp": "\x1b[5~", "NPage": "\x1b[6~",
    "PageDown": "\x1b[6~", "F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~",
    "F6": "\x1b[17~", "F7": "\x1b[18~", "F8": "\x1b[19~", "F9": "\x1b[20~", "F10": "\x1b[21~",
    "F11": "\x1b[23~", "F12": "\x1b[24~",
}  # fmt: skip
_MOVES = {"Up": "A", "Down": "B", "Right": "C", "Left": "D", "Home": "H", "End": "F"}


def sent(key: str, has_cursor_keys: bool = False) -> bytes:
    """What a key sends. `has_cursor_keys`: the program has asked for arrows of another kind."""
    if key in _MOVES:
        return f"\x1b{'O' if has_cursor_keys else '['}{_MOVES[key]}".encode()
    if key in _NAMED:
        return _NAMED[key].encode()
    if len(key) == 1 and key.isprintable():
        return key.encode()
    if key.startswith("M-") and key != "M-":
        return b"\x1b" + sent(key[2:], has_cursor_keys)
    if len(key) == 3 and key.startswith("C-") and "@" <= key[2].upper() <= "_":
        return bytes([ord(key[2].upper()) & 0x1F])
    raise BridgeError(f"there is no key {key!r}", hint="Keys have tmux's names: Enter, Escape, Tab, Up, C-c")
