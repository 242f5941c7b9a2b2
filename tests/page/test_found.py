"""What the page marks of what was searched for: just what the room has found it by."""

from playwright.sync_api import Page, expect

from postroom.model.query import parse, snippet
from tests.page.hall import Hall

TEXT = "😀 A merge conflict; the conflict of the merge, a Mérge-Conflict, merged, snake_merge conflicts"
QUERIES = (
    '"merge conflict"', "merge-conflict", "merge conflict", "merg*", '"merge confl"*',
    'merge -"merge conflict"',
    "a OR merged", "conflict NOT a", "MERGE AND of", '"merge', "-merge a", '"of the" the merge',
)  # fmt: skip


def test_a_phrase_is_marked_where_it_stands_and_none_of_its_words_alone(hall: Hall, page: Page):
    hall.script.send("planner", "backend", "The merge", TEXT)
    hall.script.send("planner", "backend", "No conflict", "None.", payload={"note": "😀 a merge conflict"})
    hall.up().open(page)
    page.get_by_label("Search the mail").fill('"merge conflict"')
    expect(page.locator(".row", has_text="The merge").locator("mark")).to_have_text(
        ["merge conflict", "Mérge-Conflict"]
    )
    expect(page.locator(".row", has_text="No conflict").locator("mark")).to_have_text(["merge conflict"])


def test_the_page_and_the_room_have_one_rule_for_what_a_query_finds(hall: Hall, page: Page):
    hall.up().open(page)
    told = page.evaluate(
        """async ([queries, text]) => {
          const { found } = await import("/sieve.js");
          return queries.map((query) => found(query, text).map(([from, to]) => text.slice(from, to)));
        }""",
        [QUERIES, TEXT],
    )
    for query, words in zip(QUERIES, told, strict=True):
        said = snippet(parse(query), {"subject": TEXT})
        assert (query, words) == (query, [said.text[start:end] for start, end in said.marks])
