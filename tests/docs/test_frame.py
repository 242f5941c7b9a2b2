"""The frame that the docs show is one."""

import os
import re

from tests.framing import parse
from tests.process import ROOT


def test_the_frame_in_the_docs_can_be_read_back() -> None:
    with open(os.path.join(ROOT, "docs", "explanation", "frame.md"), encoding="utf-8") as file:
        found = re.search(r"```text\n(.*?)```", file.read(), re.DOTALL)
    assert found is not None
    letters = parse(found[1], found[1].partition(" ")[0]).letters
    assert [letter.sender for letter in letters] == ["planner", "mallory", "planner"]
    assert letters[1].body.splitlines()[1] == "%%7k2m9qxd end"
