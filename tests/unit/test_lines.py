"""Lines that come in the frames of a WebSocket: what cutting them out costs, and what is too long."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from postroom.daemon import tools
from postroom.server.rate import Rates


class Frame(bytes):
    """Notes how many bytes were before it when it was put behind them as a copy of them all."""

    copied = 0

    def __radd__(self, before: bytes) -> bytes:
        Frame.copied += len(before)
        return bytes(before) + bytes(self)


def cut(frames: list[bytes]) -> list[bytes]:
    messages: list[Any] = [{"type": "websocket.receive", "bytes": frame} for frame in frames]
    messages.append({"type": "websocket.disconnect"})

    async def receive() -> Any:
        return messages.pop(0)

    async def run() -> list[bytes]:
        return [bytes(line) async for line in tools._lines_of(receive)]

    return asyncio.run(run())


def test_a_line_in_many_small_frames_is_not_copied_with_each_of_them():
    Frame.copied = 0
    assert cut([b"x" * 10_000, *(Frame(b"ab") for _ in range(100)), b"\n"]) == [b"x" * 10_000 + b"ab" * 100]
    assert Frame.copied == 0


def test_frames_are_cut_where_lines_end_wherever_that_is():
    assert cut([b"a\nb", b"", b"c\n\n", b"d\ne\n", b"rest"]) == [b"a", b"bc", b"", b"d", b"e"]


def test_a_line_that_is_too_long_ends_it_and_what_was_whole_before_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tools, "LONGEST", 8)
    assert cut([b"ok\n12345678\n", b"1234", b"5678", b"9", b"\nno\n"]) == [b"ok", b"12345678"]


def test_each_line_counts_as_a_request_and_waits_its_turn(monkeypatch: pytest.MonkeyPatch):
    """By a clock that goes on only while somebody sleeps."""
    clock, slept = [0.0], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += seconds

    class Clocked(Rates):
        def take(self, caller: str, now: float | None = None) -> float:
            return super().take(caller, clock[0])

    async def many() -> AsyncIterator[bytes]:
        for _ in range(13):
            yield b"x"

    async def run() -> int:
        return len([line async for line in tools._paced(many(), Clocked(2))])

    monkeypatch.setattr(tools.asyncio, "sleep", sleep)
    assert asyncio.run(run()) == 13
    assert sum(slept) == pytest.approx(1.5)  # ten at once, and then two each second
