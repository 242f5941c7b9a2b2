"""The mailbox of `bob`, as its host has it."""

import os
from collections.abc import Iterator

import pytest

from postroom.bridges.files.local import LocalShelf


@pytest.fixture
def shelf(tmp_path: os.PathLike[str]) -> Iterator[LocalShelf]:
    shelf = LocalShelf(os.fspath(tmp_path), "bob")
    shelf.make()
    yield shelf
    shelf.close()
