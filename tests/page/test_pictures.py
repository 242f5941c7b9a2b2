"""What the page looks like, by its pictures: what its document says can be there and not be seen."""

import base64
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Page

from tests.page.hall import Hall

VIEWS = (("list", "#/mail", ".row"), ("agents", "#/agents", ".person"), ("metrics", "#/metrics", "g.spread"))
MEASURE = """
async ([png, part]) => {
  const bytes = Uint8Array.from(atob(png), (each) => each.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const { width, height } = image;
  const brush = new OffscreenCanvas(width, height).getContext("2d");
  brush.drawImage(image, 0, 0);
  const { data } = brush.getImageData(0, 0, width, height);
  const light = (n) => (0.2126 * data[n] + 0.7152 * data[n + 1] + 0.0722 * data[n + 2]) / 255;
  const shades = Array(64).fill(0);
  let [sum, bright, inside, ink, edge] = [0, 0, 0, 0, 0];
  for (let n = 0; n < data.length; n += 4) {
    sum += light(n);
    bright += light(n) > 0.5;
    shades[Math.floor(light(n) * 63.99)] += 1;
  }
  const ground = (shades.indexOf(Math.max(...shades)) + 0.5) / 64;
  for (let n = 0; n < data.length; n += 4) {
    const [x, y] = [(n / 4) % width, Math.floor(n / 4 / width)];
    const isInk = Math.abs(light(n) - ground) > 0.25;
    edge += isInk && x >= width - 2;
    if (x < part.x || x >= part.x + part.width || y < part.y || y >= part.y + part.height) continue;
    inside += 1;
    ink += isInk;
  }
  return [width, (sum * 4) / data.length, (bright * 4) / data.length, ink / inside, edge / (2 * height)];
}
"""


class Picture(NamedTuple):
    """What is measured of one: shares from 0 to 1."""

    width: int
    mean: float  # of light
    bright: float  # pixels nearer to white than to black
    ink: float  # what stands out from the ground, in the view itself
    edge: float  # the same, in the last two columns: what runs out of the page


def taken(page: Page, view: str) -> Picture:
    """All of the page, also what is wider than its window."""
    png = base64.b64encode(page.screenshot(full_page=True)).decode()
    desk = page.context.new_page()  # the page itself lets nobody draw in it
    found = Picture(*desk.evaluate(MEASURE, [png, page.locator(view).bounding_box()]))
    desk.close()
    return found


def each_view(hall: Hall, page: Page) -> Iterator[tuple[str, Picture]]:
    for name, where, until in VIEWS:
        page.goto(f"{hall.origin}/{where}")
        page.locator(until).first.wait_for()
        yield name, taken(page, "main")
    page.goto(f"{hall.origin}/#/mail")
    page.locator(".row a", has_text="Refund endpoint").first.click()
    page.locator("#beside .delivery").first.wait_for()
    page.keyboard.press("t")
    page.locator("#beside .letters > li").nth(3).wait_for()
    yield "thread", taken(page, "#beside")


@pytest.mark.parametrize("wide", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_view_is_seen_in_its_light_and_within_its_width(hall: Hall, page: Page, scheme: str, wide: int):
    hall.script.people()
    hall.script.work(40)
    hall.script.end_of_day()
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": wide, "height": 800})
    hall.up().open(page)
    for name, picture in each_view(hall, page):
        told = f"{name}: {picture}"
        assert (picture.width, picture.edge) == (wide, 0), told
        assert 0.01 < picture.ink < 0.3, told
        if scheme == "dark":
            assert picture.mean < 0.25, told
            assert picture.bright < 0.1, told
        else:
            assert picture.mean > 0.75, told
            assert picture.bright > 0.9, told
