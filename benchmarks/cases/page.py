"""How soon the page shows the mail of a room with many messages, and whether it ever stands still."""

import os
from typing import Any, NamedTuple

from benchmarks.bench import Bench
from benchmarks.filling import fill
from benchmarks.result import Column, Result, Row, Values, percentile

TEMPLATE = 500
"""Messages lived through the API, then copied."""

COLUMNS = (
    Column("paint", "first paint p50 ms"),
    Column("paint_p95", "p95 ms"),
    Column("mail", "mail shown p50 ms"),
    Column("mail_p95", "p95 ms"),
    Column("block", "longest block while all are scrolled through ms"),
)
SHOWN = """
() => new Promise((done) => {
  const look = () => document.querySelector(".row") ? done(performance.now()) : requestAnimationFrame(look);
  look();
})
"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
SCROLL = """
async (count) => {
  const log = document.querySelector(".log");
  const all = count * document.querySelector(".row").offsetHeight;
  let longest = 0;
  const note = (list) => { for (const one of list) longest = Math.max(longest, one.duration); };
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({type: "longtask"});
  while (log.scrollHeight < all) {
    log.scrollTop = log.scrollHeight;
    await new Promise(requestAnimationFrame);
  }
  note(observer.takeRecords());
  return longest;
}
"""
"""To the very end: more is fetched whenever that comes near, until the page has all of them."""


class Load(NamedTuple):
    """When the page was there, in milliseconds after it was asked for."""

    paint: float
    mail: float


def run(bench: Bench) -> Result:
    from playwright.sync_api import sync_playwright

    from tests.page.hall import Hall, chromium, launch

    path = chromium()
    if path is None:
        bench.skipped["page"] = "no chromium here"
        return Result("page", "The page", COLUMNS, ())
    rows: list[Row] = []
    rounds = bench.pick(5, 20)
    for messages in (1000, bench.pick(10_000, 100_000)):
        folder = str(bench.folder / f"page-{messages}")
        with Hall(os.path.join(folder, "home"), folder) as hall, sync_playwright() as playwright:
            database = os.path.join(hall.room.home, "room.db")
            fill(database, messages // TEMPLATE - 1, lambda hall=hall: hall.script.work(TEMPLATE))
            hall.up()
            browser = launch(playwright, path)
            context = _context(browser)
            hall.open(context.new_page())
            cold = _first_loads(hall, browser, context, rounds)
            warm = _loads(hall, context, rounds) | {"block": _scrolled(hall, context, messages)}
            browser.close()
        rows.append(Row(f"{messages}-first", f"{messages:,} messages, the first load", cold))
        rows.append(Row(str(messages), f"{messages:,} messages, a later load", warm))
    note = (
        f"{rounds} loads each, in a tab of its own: the first one in a browser that keeps nothing yet but its"
        " login, a later one with what it keeps of the page's files."
    )
    return Result("page", "The page", COLUMNS, rows, notes=(note,))


def _context(browser: Any, **options: Any) -> Any:
    return browser.new_context(viewport={"width": 1280, "height": 800}, **options)


def _first_loads(hall: Any, browser: Any, known: Any, rounds: int) -> Values:
    """Each in a context of its own, which shares nothing with others but the login."""
    loads: list[Load] = []
    for _ in range(rounds):
        context = _context(browser, storage_state=known.storage_state())
        loads.append(_load(hall, context))
        context.close()
    return _spread(loads)


def _loads(hall: Any, context: Any, rounds: int) -> Values:
    return _spread([_load(hall, context) for _ in range(rounds)])


def _load(hall: Any, context: Any) -> Load:
    tab = context.new_page()
    tab.goto(f"{hall.origin}/#/mail", wait_until="commit")
    mail = tab.evaluate(SHOWN)
    paint = tab.evaluate(PAINT)
    tab.close()
    return Load(paint, mail)


def _spread(loads: list[Load]) -> Values:
    paints, mails = [load.paint for load in loads], [load.mail for load in loads]
    return {
        "paint": percentile(paints, 0.5), "paint_p95": percentile(paints, 0.95),
        "mail": percentile(mails, 0.5), "mail_p95": percentile(mails, 0.95),
    }  # fmt: skip


def _scrolled(hall: Any, context: Any, messages: int) -> float:
    tab = context.new_page()
    hall.open(tab)
    tab.evaluate(SHOWN)
    return tab.evaluate(SCROLL, messages)
