"""The pictures of the docs can be taken anew: of the page, and of the terminal view."""

import runpy
import struct
import subprocess
import sys
from pathlib import Path

from tests.machine import lacks
from tests.page.hall import chromium
from tests.process import BOUND, ROOT, environment

SCRIPT = Path(ROOT, "docs", "screenshots.py")
PICTURES = Path(ROOT, "docs", "pictures")
TAKEN = ("stop", "top-open")  # of each kind one in which something is opened first


def test_the_pictures_of_the_docs_are_those_that_the_script_takes():
    assert {path.stem for path in PICTURES.iterdir()} == set(runpy.run_path(str(SCRIPT))["NAMES"])


def test_the_script_takes_the_pictures_in_the_sizes_of_those_in_the_docs(tmp_path: Path):
    if chromium() is None:
        lacks("chromium")
    done = subprocess.run(
        [sys.executable, SCRIPT, "--into", tmp_path, *TAKEN], cwd=tmp_path, env=environment(),
        capture_output=True, text=True, timeout=3 * BOUND, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {path.stem: size(path) for path in tmp_path.iterdir()} == {
        name: size(PICTURES / f"{name}.png") for name in TAKEN
    }


def size(path: Path) -> tuple[int, int]:
    """Of a PNG, from its first chunk."""
    begin = path.read_bytes()[:24]
    assert begin.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", begin[16:])
