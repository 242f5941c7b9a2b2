"""What a newcomer sees first: the page at the end of `make demo`, with the demo's conversation in it."""

import re

from playwright.sync_api import Page, expect

from tests.commandline import CommandLine
from tests.process import BOUND


def test_the_page_of_the_demo_shows_its_conversation(home: str, page: Page):
    with CommandLine(home).start("demo", "--fast", "--page") as demo:
        assert demo.stdout is not None
        lines = iter(demo.stdout.readline, b"")
        link = next(
            found[0] for line in lines if (found := re.search(r"http://\S+once=[\w-]+", line.decode()))
        )
        page.goto(link)
        row = page.locator(".row", has_text="T-2 parser").first
        expect(row).to_contain_text("planner")
        expect(row).to_contain_text("acked")
        row.locator("a").click()
        beside = page.locator("#beside")
        expect(beside).to_contain_text("unproven")  # the attempt of the builder that was killed
        expect(beside).to_contain_text("proven")
        demo.communicate(timeout=BOUND)
    assert demo.returncode == 0
