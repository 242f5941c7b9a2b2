"""A room with its daemon, and the page of it in a real browser."""

import shutil
import subprocess
import sys
from typing import Self

from playwright.sync_api import Browser, Page, Playwright

from postroom.daemon import control
from tests.commandline import CommandLine
from tests.page.scripted import PERSON, PROJECT, Scripted
from tests.process import BOUND, ROOT, environment, free_port, until

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Nothing is asked for but the page: no updates, no first run; and tests may run as root.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


def chromium() -> str | None:
    """The browser that the machine has."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch(playwright: Playwright, path: str) -> Browser:
    return playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))


class Terminal(CommandLine):
    """The command line of the room's person, in the project of the script."""

    def __init__(self, home: str, port: int) -> None:
        super().__init__(home)
        self._port = port

    @property
    def environment(self) -> dict[str, str]:
        return {
            "POSTROOM_HOME": self.home,
            "POSTROOM_PROJECT": PROJECT,
            "POSTROOM_HTTP_PORT": str(self._port),
        }


class Hall:
    """`with Hall(home, place) as hall`: leaves no daemon behind."""

    def __init__(self, home: str, place: str) -> None:
        self.port = free_port()
        self.script = Scripted(home, place)
        self.room = self.script.room
        self.terminal = Terminal(home, self.port)
        self.origin = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.script.__exit__()

    def up(self) -> Self:
        """Start the daemon, and wait until it serves the page."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "postroom", "up", "--foreground"], cwd=ROOT, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=environment(**self.terminal.environment), start_new_session=True,
        )  # fmt: skip
        until(lambda: control.ping(self.room.home))
        return self

    def kill(self) -> None:
        """As a machine that fails does: without a word."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(BOUND)
            self._process = None

    def link(self) -> str:
        """An address that logs a browser in, once."""
        return self.terminal.ok("dashboard", "--no-open", "--json", "--as", PERSON).json["url"]

    def open(self, page: Page, where: str = "#/mail") -> Page:
        """Log in, and go to a view."""
        page.goto(self.link())
        page.wait_for_url(f"{self.origin}/**")
        page.goto(f"{self.origin}/{where}")
        page.locator("body[data-link=open] main h1").wait_for(state="attached")
        return page
