"""A browser for each module of tests: while one runs, its thread has an event loop of its own."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.machine import lacks
from tests.page.hall import Hall, chromium, launch

PATIENCE = 15_000  # milliseconds, on a loaded machine


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        lacks("chromium")
        raise AssertionError("it was skipped")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = launch(playwright, path)
        yield browser
        browser.close()


@pytest.fixture
def hall(home: str, tmp_path: os.PathLike[str]) -> Iterator[Hall]:
    with Hall(home, os.path.join(tmp_path, "work")) as hall:
        yield hall


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab of a browser that knows nothing yet; what goes wrong in it fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda said: errors.append(said.text) if "Content Security Policy" in said.text else None
    )
    yield page
    context.close()
    assert errors == []
