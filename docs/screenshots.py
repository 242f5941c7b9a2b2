"""Take the pictures of the docs: the page and the terminal view of a scripted room, in Chromium.

Run by `make screenshots`. They look best with the typefaces Inter, Charis SIL and JetBrains Mono (on Debian:
fonts-inter, fonts-sil-charis, fonts-jetbrains-mono); without them the page takes what there is.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))  # the scripted room is part of the tests

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402 - after the path

from postroom.room.local import open_room  # noqa: E402
from postroom.top.app import Top  # noqa: E402
from postroom.top.source import Here  # noqa: E402
from tests.page.hall import Hall, chromium, launch  # noqa: E402
from tests.page.scripted import PERSON, PROJECT  # noqa: E402
from tests.top.seen import Seen  # noqa: E402

PICTURES = os.path.join(HERE, "pictures")
WIDE, NARROW = (1280, 800), (375, 740)


def _open_message(page: Page) -> None:
    page.locator(".row a", has_text="Refund endpoint").first.click()
    page.locator("#beside .delivery").wait_for()


def _open_thread(page: Page) -> None:
    _open_message(page)
    page.keyboard.press("t")
    page.locator("#beside .letters > li").nth(3).wait_for()


def _ask_to_stop(page: Page) -> None:
    page.get_by_role("button", name="Stop backend").click()


def _nothing(_: Page) -> None:
    """As it is."""


class Picture(NamedTuple):
    name: str
    where: str
    until: str  # what must be there
    act: Callable[[Page], None] = _nothing
    scheme: str = "light"
    size: tuple[int, int] = WIDE


SHOWN = (
    Picture("mail", "#/mail", ".row", _open_message, size=(1440, 860)),
    Picture("mail-dark", "#/mail", ".row", _open_thread, "dark", (1440, 860)),
    Picture("agents", "#/agents", ".person"),
    Picture("stop", "#/agents", ".person", _ask_to_stop),
    Picture("decisions", "#/decisions", ".gate", size=(1280, 520)),
    Picture("metrics", "#/metrics", "g.spread", size=(1280, 1000)),
    Picture("graph", "#/graph", ".node", size=(1280, 640)),
    Picture("phone", "#/mail", ".row", size=NARROW),
    Picture("phone-agent", "#/agents?agent=shop/frontend", "#beside .facts", scheme="dark", size=NARROW),
)


class Drawing(NamedTuple):
    """Of `postroom top`: after these keys, when that is to be seen."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...]
    until: str


DRAWN = (
    Drawing("top", (100, 30), (), "its mail d decide s stop"),
    Drawing("top-open", (144, 34), ("tab", "down", "down", "down", "down", "enter"), "What happened"),
)

NAMES = [one.name for one in (*SHOWN, *DRAWN)]


def main() -> int:
    options = _options()
    path = chromium()
    if path is None:
        sys.stderr.write("No chromium here: make browser\n")
        return 1
    for name in [name for name in os.environ if name.startswith("POSTROOM_")]:
        del os.environ[name]
    folder, wanted = options.into, options.names or NAMES
    os.makedirs(folder, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as place,
        Hall(os.path.join(place, "home"), os.path.join(place, "shop")) as hall,
    ):
        hall.script.work()
        hall.script.people()
        hall.script.end_of_day()
        drawn = [(one, asyncio.run(_draw(hall, one))) for one in DRAWN if one.name in wanted]
        hall.up()
        with sync_playwright() as playwright:
            browser = launch(playwright, path)
            for one, svg in drawn:
                _photograph(browser, svg, os.path.join(folder, f"{one.name}.png"))
            for picture in SHOWN:
                if picture.name in wanted:
                    _take(browser, hall, picture, os.path.join(folder, f"{picture.name}.png"))
            browser.close()
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(NAMES)}")
    parser.add_argument("--into", metavar="DIR", default=PICTURES, help="default: docs/pictures")
    options = parser.parse_args()
    if unknown := set(options.names).difference(NAMES):
        parser.error(f"no picture is called {', '.join(sorted(unknown))}")
    return options


async def _draw(hall: Hall, drawing: Drawing) -> str:
    room = open_room(hall.room.home, project=PROJECT)
    room.claim(PERSON)
    async with Top(Here(room)).run_test(size=drawing.size) as pilot:
        seen = Seen(pilot)
        await seen.until("Agents", "planner")
        await seen.press(*drawing.keys)
        await seen.until(drawing.until)
        return pilot.app.export_screenshot(title="postroom top")


def _photograph(browser: Browser, svg: str, path: str) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.route("**/*", lambda route: route.abort())  # it asks for a typeface from elsewhere
    style = "svg text { font-family: 'JetBrains Mono', 'DejaVu Sans Mono', monospace }"
    page.set_content(f"<style>body {{ margin: 0 }} {style}</style>{svg}", wait_until="domcontentloaded")
    page.locator("svg").first.screenshot(path=path, omit_background=True)
    page.close()


def _take(browser: Browser, hall: Hall, picture: Picture, path: str) -> None:
    wide, tall = picture.size
    context = browser.new_context(
        viewport={"width": wide, "height": tall},
        color_scheme="dark" if picture.scheme == "dark" else "light",
        device_scale_factor=2 if wide < 500 else 1,
        reduced_motion="reduce",
    )
    page = hall.open(context.new_page(), picture.where)
    page.locator(picture.until).first.wait_for()
    picture.act(page)
    page.mouse.move(0, 0)
    page.evaluate("document.fonts.ready")
    page.screenshot(path=path)
    context.close()


if __name__ == "__main__":
    sys.exit(main())
