"""The recorded hooks and transcripts: whole, and without a trace of the machine they were made on."""

import glob
import json
import os
import re

import pytest

from tests.process import ROOT

DATA = os.path.join(ROOT, "tests", "data")
CAPTURES = sorted(glob.glob(os.path.join(DATA, "hooks", "*", "*.json")))
TRANSCRIPTS = sorted(glob.glob(os.path.join(DATA, "transcripts", "*.jsonl")))
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


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=os.path.basename)
def test_a_transcript_has_the_text_its_hooks_injected_and_names_no_machine(path: str) -> None:
    assert [json.loads(line) for line in text(path).splitlines()]
    assert "INJECTED-" in text(path)
    assert not MACHINE.findall(text(path))


def test_each_agent_with_hooks_was_recorded() -> None:
    agents = {os.path.basename(os.path.dirname(path)) for path in CAPTURES}
    assert agents == {"claude", "codex", "copilot", "gemini", "goose", "opencode", "qwen"}
    kept = {os.path.splitext(os.path.basename(path))[0] for path in TRANSCRIPTS}
    assert kept == agents - {"goose"}, "which tells its hooks of no transcript"
