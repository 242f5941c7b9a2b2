"""Keeps every byte that it reads from its terminal: `python -m tests.tui.recorder FILE [--plain]`."""

import os
import sys
import tty


def main(path: str, *flags: str) -> None:
    kept = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    tty.setraw(0)
    os.write(1, b"" if "--plain" in flags else b"\x1b[?2004h")
    os.write(1, b"recording\r\n")
    while data := os.read(0, 65536):
        os.write(kept, data)


if __name__ == "__main__":
    main(*sys.argv[1:])
