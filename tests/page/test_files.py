"""The page's files as they are written: nothing in them parses markup, and nothing comes from elsewhere."""

import re
from pathlib import Path

import pytest

from tests.process import ROOT

PAGE = Path(ROOT, "src/postroom/server/page")
MODULES = sorted(PAGE.rglob("*.js"))
PARSES = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|setAttribute\(\"style\""
    r"|createContextualFragment|setHTML|\beval\(|new Function|javascript:"
)
ELSEWHERE = re.compile(r"""(?:src|href|url|import|fetch)\W{0,3}["'(](?:https?:)?//""")


@pytest.mark.promise("page-text")
@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_turns_text_into_markup_or_code(path: Path):
    assert PARSES.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted(PAGE.rglob("*.*")), ids=lambda path: path.name)
def test_nothing_is_loaded_from_elsewhere(path: Path):
    assert ELSEWHERE.findall(path.read_text(encoding="utf-8")) == []


def test_the_document_has_no_script_or_style_inside_and_names_files_that_exist():
    """What the policy of the server's headers would keep from working."""
    document = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\bsrc=)", document)
    named = re.findall(r'(?:src|href)="([^"#]+)"', document)
    assert [name for name in named if not (PAGE / name).is_file()] == []


def test_every_module_imports_what_exists():
    for path in MODULES:
        for name in re.findall(r'(?:from|import)\s*\(?"(\.[^"]+)"', path.read_text(encoding="utf-8")):
            assert (path.parent / name).is_file(), (path.name, name)
