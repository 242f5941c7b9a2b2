"""What a newcomer sees first: the page at the end of `make demo`, with the demo's conversation in it."""

import re

from playwright.sync_api import Page, expect

from postroom import host
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
        if host.on_path("tmux"):
            attention = page.get_by_role("region", name="Needs somebody")
            expect(attention).to_contain_text("clerkneeds a person’s answer to go on; 1 message waits")
            expect(attention).to_contain_text(re.compile(r"postroom --home \S+ attach \S*clerk"))
            attention.get_by_role("link", name="clerk").click()
            beside.get_by_role("button", name="Show its screen").click()
            expect(beside.locator(".screen")).to_contain_text("Remove 3 old drafts? [y/N]")
            beside.get_by_role("button", name="Stop").click()
            asked = page.get_by_role("dialog")
            expect(asked).to_contain_text("Nothing will be pressed: its screen shows a dialog")
            page.get_by_role("button", name="Try to stop it").click()
            expect(asked).to_contain_text("it asks a person")
            asked.get_by_role("button", name="Show its screen").click()
            expect(asked.locator(".screen")).to_contain_text("Remove 3 old drafts? [y/N]")
        demo.communicate(timeout=BOUND)
        expect(page.locator("#banner")).to_have_text(
            "The demo has ended; what you see is how it stood. See another: postroom demo"
        )
    assert demo.returncode == 0
