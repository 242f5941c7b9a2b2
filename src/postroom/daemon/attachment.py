"""Somebody attached to the terminal of a child of ours: what it shows goes out, what they type goes in.

After the answer to the verb `attach` the connection is theirs. From us come bytes as they are, first all that
is needed to draw the screen, and at last `END` where the program has ended; from them come parcels, each of a
kind, a length and that many bytes.
"""

import queue
import socket
import struct
import threading
from collections.abc import Iterator

from postroom.bridges.contract import Attachable

KEYS, SIZE = b"k", b"s"  # what a parcel holds: what was typed; columns and lines
END = b"\x1b_postroom ended\x1b\\"  # a string that no terminal shows
_HEAD, _SIZE = struct.Struct(">cI"), struct.Struct(">HH")
_MOST = 1 << 16  # bytes of one parcel
_BEHIND = 256  # pieces of output that somebody may be behind, before they are let go
_SEND = 10.0  # seconds to take one of them


def keys(data: bytes) -> bytes:
    """A parcel of what was typed."""
    return _HEAD.pack(KEYS, len(data)) + data


def size(columns: int, lines: int) -> bytes:
    """A parcel that says how large the window is."""
    return _HEAD.pack(SIZE, _SIZE.size) + _SIZE.pack(columns, lines)


def attach(terminal: Attachable, link: socket.socket) -> None:
    """Returns when the other side has gone, or does not keep up."""
    shown: queue.Queue[bytes] = queue.Queue(_BEHIND)
    link.settimeout(_SEND)  # once, for both threads: it is the socket's, and not the call's
    leave = terminal.subscribe(lambda piece: _show(piece, shown, link))
    sender = threading.Thread(target=_send, args=(shown, link), daemon=True)
    sender.start()
    try:
        for kind, data in _parcels(link):
            if kind == SIZE:
                terminal.resize(*_SIZE.unpack(data))
            else:
                terminal.type_by_person(data)
    except (OSError, ValueError, struct.error):
        pass  # they are gone, or speak another language
    finally:
        leave()
        _finish(shown)


def _show(piece: bytes, shown: "queue.Queue[bytes]", link: socket.socket) -> None:
    """Who is too far behind is let go, and told nothing of an end; the terminal drops whoever raises."""
    try:
        shown.put_nowait(piece)
    except queue.Full:
        _close(link)
        raise


def _send(shown: "queue.Queue[bytes]", link: socket.socket) -> None:
    """An empty piece is the end."""
    try:
        while piece := shown.get():
            link.sendall(piece)
        link.sendall(END)
    except OSError:
        pass
    _close(link)


def _close(link: socket.socket) -> None:
    try:
        link.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # they have gone before


def _finish(shown: "queue.Queue[bytes]") -> None:
    try:
        shown.put_nowait(b"")
    except queue.Full:
        shown.get_nowait()
        shown.put_nowait(b"")


def _parcels(link: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    while head := _exactly(link, _HEAD.size):
        kind, length = _HEAD.unpack(head)
        if length > _MOST:
            raise ValueError("too long")
        yield kind, _exactly(link, length)


def _exactly(link: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        try:
            more = link.recv(length - len(data))
        except TimeoutError:  # who types nothing stays
            continue
        if not more:
            return b""
        data += more
    return data
