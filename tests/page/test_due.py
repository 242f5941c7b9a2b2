"""What is due at its time: the page asks what it does not hold, and no more often than it must."""

from playwright.sync_api import Page

from tests.page.hall import Hall

COUNTED = """async (id) => {
  const { Store } = await import("/store.js");
  const [store, really, counts] = [new Store(), window.fetch, []];
  const due = { type: "delivery.due", payload: {}, delivery: { message: id } };
  let asked = 0;
  let isThere = false;
  window.fetch = async (url, ...rest) => {
    if (!String(url).includes(id)) return really(url, ...rest);
    asked += 1;
    if (!isThere) throw new TypeError("no network");
    return new Response(JSON.stringify({ id, sender_id: "a1", deliveries: [] }));
  };
  for (const there of [false, true, true]) {
    isThere = there;
    for (let n = 0; n < 5; n += 1) store.apply(due);
    await new Promise((resolve) => setTimeout(resolve));
    counts.push(asked);
  }
  return counts;
}"""


def test_what_is_due_for_many_is_asked_for_once(hall: Hall, page: Page):
    """And again only if there was no answer."""
    hall.up().open(page)
    assert page.evaluate(COUNTED, "01a31859-b3a4-7e97-8f78-fdd500000000") == [1, 2, 2]
