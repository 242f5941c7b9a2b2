"""What an agent that a bridge reaches does, in words."""

import pytest

from postroom.cli import bridged
from postroom.room.glance import Glance


@pytest.mark.parametrize("title", ["permission", "run: rm -rf ~: list the files", "a; b: c"])
def test_what_it_asks_is_shown_whole(title: str):
    seen = Glance("asking", f"it asks for a permission: {title}", "approval", 1, "1.1")
    assert bridged._doing(seen) == f"asks: {title}"
