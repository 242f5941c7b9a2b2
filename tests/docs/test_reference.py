"""The generated pages of the reference say what the code says."""

import os
import runpy

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATE = runpy.run_path(os.path.join(ROOT, "docs", "generate.py"))


@pytest.mark.parametrize("name", sorted(GENERATE["PAGES"]))
def test_a_generated_page_is_what_the_code_would_generate_now(name: str) -> None:
    with open(os.path.join(ROOT, "docs", "reference", name), encoding="utf-8") as file:
        assert file.read() == GENERATE["PAGES"][name](), "run: make fix"
