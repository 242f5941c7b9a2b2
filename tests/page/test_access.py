"""For everybody, and for nobody else: keys, small screens, other readers, other origins."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.hall import Hall
from tests.page.scripted import PERSON

# What any page can send: of these only the first is asked about before it goes out.
FORGE = """
async ([target, by]) => {
  const ways = {
    "with leave": {mode: "cors", headers: {"Content-Type": "application/json"}},
    "as text": {mode: "cors"},
    "blindly": {mode: "no-cors"},
  };
  for (const [way, options] of Object.entries(ways)) {
    await fetch(target + "/api/v1/messages", {method: "POST", credentials: "include", ...options,
      body: JSON.stringify({to: "shop/backend", body: `${by} ${way}`})}).catch(() => null);
  }
}
"""
# A form is asked about by nobody, and takes the page along: what is answered is the browser's to see.
FORM = """
([target, by]) => {
  const form = Object.assign(document.createElement("form"), {method: "post", enctype: "text/plain"});
  const field = document.createElement("input");
  field.name = `{"to": "shop/backend", "subject": "`;
  field.value = `", "body": "${by} in a form"}`;
  form.action = target + "/api/v1/messages";
  form.append(field);
  const leave = Object.assign(document.createElement("meta"), {name: "referrer", content: "origin"});
  document.head.append(leave); // our own page tells nobody where it is, not even us
  document.body.append(form);
  form.submit();
}
"""
READ = """
(target) => fetch(target + "/api/v1/messages", {credentials: "include"})
  .then((answer) => answer.status, () => "blocked")
"""
SOCKET = """
(target) => new Promise((done) => {
  const socket = new WebSocket(target.replace("http", "ws") + "/ws/projects/shop");
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})
"""


@pytest.mark.promise("page-keys")
def test_everything_is_done_with_the_keyboard_alone(hall: Hall, page: Page):
    hall.script.send("planner", "backend", "First", "One.")
    hall.script.send("backend", PERSON, "Second", "Two.")
    hall.up().open(page)
    expect(page.locator(".row")).to_have_count(2)
    press = page.keyboard.press
    press("j")
    press("j")
    expect(page.locator(".row a:focus")).to_contain_text("First")
    press("k")
    press("Enter")
    expect(page.locator("#beside h2")).to_have_text("Second")
    expect(page.locator("#beside h2")).to_be_focused()
    press("r")
    expect(page.locator("#reply-body")).to_be_focused()
    page.keyboard.type("Three.")
    press("Control+Enter")
    expect(page.locator("#said")).to_contain_text("stored")
    press("t")
    expect(page.locator("#beside .letters > li")).to_have_count(2)
    press("Escape")
    expect(page.locator("#beside")).to_be_hidden()
    press("/")
    expect(page.get_by_label("Search the mail")).to_be_focused()
    press("Escape")
    press("g")
    press("a")
    expect(page.get_by_role("heading", name="Agents", exact=True)).to_be_focused()
    press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    press("Escape")
    press("c")
    expect(page.get_by_label("To", exact=True)).to_be_focused()
    page.keyboard.type("backe")
    press("ArrowDown")
    press("Enter")
    expect(page.get_by_label("To", exact=True)).to_have_value("shop/backend")
    press("Escape")
    assert hall.room.peek("backend") != []


def test_single_keys_can_be_turned_off(hall: Hall, page: Page):
    hall.up().open(page)
    page.keyboard.press("?")
    page.get_by_label("Single keys do something").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    expect(page.locator("#compose")).to_be_hidden()
    page.reload()
    page.locator("main h1").wait_for()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_hidden()


def test_on_a_telephone_nothing_is_wider_than_the_screen(hall: Hall, page: Page):
    hall.script.people()
    hall.script.work(10)
    hall.script.end_of_day()
    page.set_viewport_size({"width": 375, "height": 740})
    hall.up().open(page)
    for where in ("mail", "agents", "decisions", "dead", "metrics", "graph", "agents?agent=shop/frontend"):
        page.goto(f"{hall.origin}/#/{where}")
        page.locator("main h1:visible, #beside h2:visible").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, where
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Mail").click()
    page.locator(".row a").first.click()
    expect(page.locator("#beside")).to_be_visible()
    expect(page.locator("main")).to_be_hidden()
    page.locator("#beside").get_by_role("button", name="Close").click()
    expect(page.locator("main")).to_be_visible()


def test_on_a_telephone_no_view_scrolls_sideways_and_no_label_covers_another(hall: Hall, page: Page):
    hall.script.work(20)
    hall.script.end_of_day()
    page.set_viewport_size({"width": 375, "height": 740})
    hall.up().open(page, "#/metrics")
    expect(page.locator(".rates .said").first).to_be_visible()
    assert page.locator(".page").evaluate("each => each.scrollWidth - each.clientWidth") == 0
    for plot in page.locator(".plot svg[role=img]").all():
        boxes = [box for tick in plot.locator(".tick").all() if (box := tick.bounding_box())]
        rows = sorted((round(box["y"]), box["x"], box["x"] + box["width"]) for box in boxes)
        for (y, _, end), (below, start, _) in pairwise(rows):
            assert y != below or end <= start
    assert page.evaluate(MIDNIGHT) == []
    page.context.clear_cookies()
    page.goto(hall.terminal.ok("dashboard", "--no-open", "--json", "--as", "human:kim").json["url"])
    page.goto(f"{hall.origin}/#/decisions")
    expect(page.locator(".commands")).to_contain_text("--expires 2h")
    assert page.locator(".commands").evaluate("each => each.scrollWidth - each.clientWidth") == 0


# Which names of days leave a plot of the week that ends shortly after midnight.
MIDNIGHT = """
async () => {
  const { bars } = await import("/plot.js");
  const hours = Array.from({ length: 168 }, (_, n) => ({ at: new Date(2026, 0, 1, n - 166), count: 1 }));
  const drawn = bars(hours, "");
  document.querySelector(".plot svg").replaceWith(drawn);
  const { right } = drawn.getBoundingClientRect();
  return [...drawn.querySelectorAll(".tick")].filter((one) => one.getBoundingClientRect().right > right)
    .map((one) => one.textContent);
}
"""


@pytest.mark.parametrize("wide", [390, 1280])
def test_a_command_breaks_before_the_word_beside_it_does(hall: Hall, page: Page, wide: int):
    page.set_viewport_size({"width": wide, "height": 800})
    hall.up()
    hall.script.bridged("tester", "asking", "it asks a person: confirm", "approval")
    hall.open(page, "#/mail?agent=shop/tester")
    copy = page.locator("#beside").get_by_role("button", name="Copy")
    copy.wait_for()
    assert copy.evaluate("each => each.clientHeight < 2 * parseFloat(getComputedStyle(each).lineHeight)")


def test_on_a_telephone_lines_are_laid_for_it_wherever_they_stand(hall: Hall, page: Page):
    hall.script.end_of_day()
    page.set_viewport_size({"width": 375, "height": 740})
    hall.up().open(page, "#/agents?agent=shop/frontend")
    names = page.locator("#beside .row .parties").first
    names.wait_for()
    assert names.evaluate("each => each.scrollWidth <= each.clientWidth"), "who wrote to whom can be read"


def test_on_a_telephone_the_light_and_the_keys_are_found_too(hall: Hall, page: Page):
    page.set_viewport_size({"width": 390, "height": 760})
    page.emulate_media(color_scheme="dark")
    hall.up().open(page)
    page.get_by_role("button", name="More").click()
    keys = page.get_by_role("dialog", name="More")
    expect(keys).to_contain_text("stop the agent that is open")
    assert keys.inner_text().index("Theme: system") < keys.inner_text().index("next, previous")
    shade = "getComputedStyle(document.documentElement).getPropertyValue('--paper')"
    dark = page.evaluate(shade)
    keys.get_by_role("button", name="Theme: system").click()
    expect(keys.get_by_role("button", name="Theme: light")).to_be_visible()
    assert page.evaluate(shade) != dark


def test_the_light_follows_the_system_and_can_be_set(hall: Hall, page: Page):
    page.emulate_media(color_scheme="dark")
    hall.up().open(page)
    shade = "getComputedStyle(document.documentElement).getPropertyValue('--paper')"
    dark = page.evaluate(shade)
    page.get_by_role("button", name="Theme: system").click()
    assert page.evaluate(shade) != dark
    page.reload()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    assert page.evaluate(shade) != dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(hall: Hall, page: Page, scheme: str):
    """WCAG AA: 4.5 to 1 for every text on every ground that it is put on."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    hall.up().open(page)
    pairs = page.evaluate(CONTRAST)
    assert [one for one in pairs if one[2] < 4.5] == []


CONTRAST = """
() => {
  const style = getComputedStyle(document.documentElement);
  const light = (name) => {
    const [r, g, b] = style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi)
      .map((x) => parseInt(x, 16) / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = [
    ["--ink", "--paper"], ["--ink", "--shade"], ["--ink", "--accent-soft"],
    ["--dim", "--paper"], ["--dim", "--shade"], ["--dim", "--accent-soft"],
    ["--accent", "--paper"], ["--paper", "--accent"], ["--paper", "--trouble"],
    ["--trouble", "--paper"], ["--trouble", "--shade"], ["--trouble", "--trouble-soft"],
    ["--trouble", "--accent-soft"],
  ];
  return pairs.map(([a, b]) => {
    const [hi, lo] = [light(a), light(b)].sort((x, y) => y - x);
    return [a, b, (hi + 0.05) / (lo + 0.05)];
  });
}
"""


def test_everything_that_can_be_used_has_a_name_and_the_page_its_landmarks(hall: Hall, page: Page):
    hall.script.people()
    hall.script.end_of_day()
    hall.up().open(page)
    views = ("mail", "agents?agent=shop/backend", "decisions", "dead", "metrics", "graph")
    for where in views:
        page.goto(f"{hall.origin}/#/{where}")
        page.locator("main h1").wait_for()
        assert page.evaluate(NAMELESS) == [], where
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation", name="Views").count() == 1
    assert page.locator("[aria-live]").count() >= 2


NAMELESS = """
() => {
  const said = (node) => [...node.childNodes].some((one) =>
    one.nodeType === Node.TEXT_NODE ? one.data.trim()
      : one.nodeType === Node.ELEMENT_NODE && getComputedStyle(one).display !== "none" && said(one));
  return [...document.querySelectorAll("a, button, input, select, textarea")]
    .filter((one) => one.checkVisibility() && !said(one))
    .filter((one) => !(one.getAttribute("aria-label") || one.labels?.length))
    .map((one) => one.outerHTML);
}
"""


@pytest.mark.promise("page-origin")
@pytest.mark.parametrize("site", ["127.0.0.1", "localhost"])
def test_a_page_of_another_origin_gets_nothing_and_does_nothing(hall: Hall, page: Page, site: str):
    """Of the same site at another port, where the cookie goes along, and of another site."""
    hall.up().open(page)
    assert asked(page, hall.origin, hall.origin, "ours") == Asked(200, 200, "open", 200)
    ours = ["ours as text", "ours blindly", "ours in a form", "ours with leave"]
    assert sorted(mail.body for mail in hall.room.peek("backend")) == ours
    with elsewhere(site) as other:
        assert asked(page, other, hall.origin, "forged") == Asked("blocked", 403, "refused", 403)
    assert sorted(mail.body for mail in hall.room.peek("backend")) == ours


class Asked(NamedTuple):
    """What came of all that a page can try."""

    read: int | str
    led: int  # to what only programs ask for
    socket: str
    form: int


def asked(page: Page, origin: str, target: str, by: str) -> Asked:
    """All that is tried at `target` by a page of `origin`, in the browser that is logged in."""
    tab = page.context.new_page()
    tab.goto(origin)
    tab.evaluate(FORGE, [target, by])
    read, socket = tab.evaluate(READ, target), tab.evaluate(SOCKET, target)
    with tab.expect_navigation() as formed:
        tab.evaluate(FORM, [target, by])
    tab.goto(origin)
    with tab.expect_navigation() as led:
        tab.evaluate("(target) => { location.href = target + '/api/v1/messages' }", target)
    statuses = [answer.status if answer else 0 for answer in (led.value, formed.value)]
    tab.close()
    return Asked(read, statuses[0], socket, statuses[1])


@contextlib.contextmanager
def elsewhere(name: str) -> Iterator[str]:
    """A server of another, at a port of its own, that is reached by this name."""

    class Blank(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{name}:{server.server_port}"
        server.shutdown()


def test_a_browser_without_a_session_is_told_how_to_get_one(hall: Hall, browser: Browser, page: Page):
    hall.up()
    page.goto(hall.origin)
    expect(page.get_by_role("heading", name="This browser is not let in")).to_be_visible()
    expect(page.get_by_text("postroom dashboard")).to_be_visible()


def test_a_browser_that_is_logged_out_meanwhile_is_told_so(hall: Hall, page: Page):
    hall.up().open(page)
    hall.terminal.ok("dashboard", "--forget", "--as", PERSON)
    hall.script.send("planner", "backend", "Something", "It asks anew.")
    expect(page.get_by_role("heading", name="This browser is not let in")).to_be_visible()


def test_a_link_works_once(hall: Hall, browser: Browser, page: Page):
    link = hall.up().link()
    page.goto(link)
    expect(page.locator("main h1")).to_have_text("Mail")
    other = browser.new_context()
    tab = other.new_page()
    tab.goto(link)
    expect(tab.get_by_role("heading", name="This link does not work any more")).to_be_visible()
    other.close()
