"""The screen of `postroom top` as somebody sees it: driven in this process, or in a real pane of tmux."""

import asyncio
import shlex
import sys
import time
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from postroom.room.local import LocalRoom
from postroom.top.app import Top
from postroom.top.source import Here
from tests.pane import Pane
from tests.process import BOUND, ROOT, until


class Seen:
    """What the screen shows, and keys."""

    def __init__(self, pilot: "Pilot[None]") -> None:
        self.pilot = pilot

    @property
    def lines(self) -> list[str]:
        strips = self.pilot.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def until(self, *texts: str, without: str = "") -> None:
        deadline = time.monotonic() + BOUND
        while not all(text in self.text for text in texts) or (without and without in self.text):
            assert time.monotonic() < deadline, f"{texts} not in:\n{self.text}"
            await self.pilot.pause(0.01)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


def watch(
    room: LocalRoom, scene: Callable[[Seen], Awaitable[None]], *, size: tuple[int, int] = (100, 30)
) -> None:
    """Play a scene before the screen; it closes the room."""

    async def play() -> None:
        async with Top(Here(room)).run_test(size=size) as pilot:
            seen = Seen(pilot)
            await seen.until("Agents")
            await scene(seen)

    asyncio.run(play())


class Shown:
    """`postroom top` in a pane of tmux of its own."""

    def __init__(self, pane: Pane, *argv: str, **env: str) -> None:
        self._pane = pane
        pane.tmux("resize-window", "-x", "80", "-y", "24")
        words = ["env", "-u", "TMUX", f"PYTHONPATH={ROOT}", *(f"{key}={value}" for key, value in env.items())]
        command = shlex.join([*words, sys.executable, "-m", "postroom", "top", *argv])
        until(lambda: pane.ask("#{pane_dead}") == "1")
        pane.tmux("respawn-pane", "-c", ROOT, "--", "sh", "-c", f'{command}; echo "ended with $?"; read _')

    def text(self, *options: str) -> str:
        return self._pane.tmux("capture-pane", "-p", *options)

    def until(self, *texts: str, without: str = "") -> None:
        def is_so() -> bool:
            text = self.text()
            return all(one in text for one in texts) and not (without and without in text)

        try:
            until(is_so)
        except AssertionError:
            raise AssertionError(f"{texts} not in:\n{self.text()}") from None

    def press(self, *keys: str) -> None:
        self._pane.tmux("send-keys", *keys)
