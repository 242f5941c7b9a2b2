"""What a file is taken for, and how it is shown."""

import pytest

from postroom.protocol import media


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("plot.png", b"\x89PNG\r\n", "image/png"),
        ("PLOT.PNG", b"\x89PNG\r\n", "image/png"),
        ("fit.py", b"def f(): ...", "text/x-python"),
        ("Makefile", b"all:\n", "text/x-makefile"),
        ("notes.md", b"# Notes", "text/markdown"),
        ("data.json", b"{}", "application/json"),
        ("archive.tar.gz", b"\x1f\x8b", "application/gzip"),
        ("no-ending", b"%PDF-1.7", "application/pdf"),
        ("no-ending", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("no-ending", "Größe".encode(), "text/plain"),
        ("no-ending", "Größe".encode()[:3], "text/plain"),
        ("no-ending", b"\xff\xfe\x00", "application/octet-stream"),
        ("unknown.ending", b"\x00\x01", "application/octet-stream"),
        ("not-really.py", b"\x7fELF\0\0", "application/octet-stream"),
        (".py", b"x", "text/x-python"),
    ],
)
def test_a_file_is_known_by_its_name_and_its_first_bytes(name: str, head: bytes, kind: str):
    assert media.guess(name, head) == kind


def test_the_types_that_can_be_read_as_they_are():
    assert all(map(media.is_text, ("text/x-python", "application/json", "image/svg+xml")))
    assert not any(map(media.is_text, ("image/png", "application/octet-stream", "application/pdf")))
    assert media.is_image("image/png")
    assert not media.is_image("text/plain")


@pytest.mark.parametrize(
    ("name", "word"), [("a.rs", "rust"), ("a.hpp", "cpp"), ("Dockerfile", "dockerfile"), ("a.yml", "yaml"),
                       ("a.txt", ""), ("a.png", ""), ("plain", "")]
)  # fmt: skip
def test_a_fence_names_the_language(name: str, word: str):
    assert media.language(name) == word


def test_nothing_in_a_text_can_close_its_fence():
    text = "a\n```\nb\n`````\n"
    fence, *inside, end = media.fenced(text, "python").split("\n")
    assert fence == "``````python"
    assert end == "``````"
    assert inside == ["a", "```", "b", "`````"]
