"""The recorded hooks and transcripts: whole, and without a trace of the machine they were made on."""

import json
import os
import re

import pytest

from postroom.runtimes import NAMES, load
from tests.process import ROOT
from tests.recorded import files, transcript

DATA = os.path.join(ROOT, "tests", "data")
CAPTURES = files()
RUNTIMES = [load(name) for name in NAMES]
TRANSCRIPTS = [path for name in NAMES if os.path.exists(path := transcript(name))]
MACHINE = re.compile(r"/rig-|(?<![\w.<])/(?:root/|tmp/(?!dev|rig)|home/(?!de[v…]))|site-packages")


def text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: os.path.relpath(path, DATA))
def test_a_capture_has_what_the_hook_was_given_and_names_no_machine(path: str) -> None:
    capture = json.loads(text(path))
    assert set(capture) == {"stdin", "env", "parent", "version"}
    assert capture["stdin"]
    assert capture["parent"]["comm"]
    assert not MACHINE.findall(text(path))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: os.path.relpath(path, DATA))
def test_a_transcript_has_the_text_its_hooks_injected_and_names_no_machine(path: str) -> None:
    assert [json.loads(line) for line in text(path).splitlines()]
    assert "INJECTED-" in text(path)
    assert not MACHINE.findall(text(path))


def test_each_agent_with_hooks_was_recorded() -> None:
    assert {os.path.basename(os.path.dirname(path)) for path in CAPTURES} == {
        one.name for one in RUNTIMES if one.points
    }


def test_each_transcript_that_proves_or_tells_something_was_recorded() -> None:
    needed = {transcript(one.name) for one in RUNTIMES if one.marks.reply or one.tools}
    assert needed
    assert needed <= set(TRANSCRIPTS)
