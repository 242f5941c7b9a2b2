"""A screen that is kept: in the form of those that profiles are tested with, and without the user in it."""

import json
import os
from typing import Any

import pytest

from postroom.bridges.terminal.golden import Golden, keep, scrubbed
from postroom.bridges.terminal.reading import Reading, State, read
from postroom.bridges.terminal.screen import parse
from postroom.runtimes.screen import of
from tests.commandline import is_told_well
from tests.kept import Kept
from tests.process import ROOT


def index(folder: str) -> dict[str, Any]:
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
        return json.load(file)


def test_a_screen_is_kept_in_the_form_of_the_golden_ones(kept: Kept, tmp_path):
    pane = kept.keep("backend")
    pane.type("half a sentence")
    pane.reads(Reading(State.IDLE, "half a sentence"))
    out = str(tmp_path / "screens")
    done = kept.cli.ok("doctor", "capture", "backend", "--out", out, "--json").json
    assert (done["reads"], done["draft"], done["state"]) == ("draft", "half a sentence", "draft")
    assert done["path"] == os.path.join(out, "claude", "draft-1.ansi")
    cases = index(os.path.join(out, "claude"))["cases"]
    golden = index(os.path.join(ROOT, "tests", "data", "screens", "claude"))
    assert cases["draft-1"].keys() - {"version"} == golden["cases"]["draft"].keys()
    with open(done["path"], encoding="utf-8") as file:
        again = read(parse(file.read().removesuffix("\n"), cases["draft-1"]["cursor"][1]), of("claude"))
    assert again == Reading(State.IDLE, "half a sentence")


def test_what_it_really_was_is_kept_beside_how_it_reads(kept: Kept, tmp_path):
    pane = kept.keep("backend")
    pane.control("strange")
    words = ("doctor", "capture", "backend", "--state", "dialog", "--out", str(tmp_path))
    first, second = kept.cli.ok(*words), kept.cli.ok(*words, "--json")
    assert "reads   unknown" in first.out
    assert "its profile must learn that" in first.err
    assert second.json["path"].endswith("dialog-2.ansi")


def test_it_reads_as_it_should_only_where_somebody_has_said_how(kept: Kept, tmp_path):
    kept.keep("backend")
    words = ("doctor", "capture", "backend", "--out", str(tmp_path))
    assert "It reads as it should" in kept.cli.ok(*words, "--state", "idle").err
    unsaid = kept.cli.ok(*words).err
    assert "It reads as it should" not in unsaid
    assert "say what: --state" in unsaid


def test_a_long_draft_is_told_in_one_line_and_one_that_may_go_on_says_so(kept: Kept, tmp_path):
    pane = kept.keep("backend", "--height", "30")
    words = ("doctor", "capture", "backend", "--out", str(tmp_path))
    pane.control("draft", "first line\nsecond " + "word " * 30)
    pane.shows("second")
    told = kept.cli.ok(*words)
    [line] = [line for line in told.out.splitlines() if line.startswith("reads")]
    assert "first line second word" in line
    assert line.endswith("…'")
    pane.control("draft", "word\n" * 9)
    pane.control("draft", "word\n" * 9)
    pane.shows("word\n  word\n")
    cut = kept.cli.ok(*words, "--json")
    assert cut.json["draft"].startswith("… ")
    assert cut.json["draft"].endswith(" (cut)")
    assert "\\u0000" not in cut.out


def test_a_pane_that_nobody_knows_is_kept_too(kept: Kept, tmp_path):
    id = kept.stage.run("cat")
    done = kept.cli.ok("doctor", "capture", id, "--out", str(tmp_path), "--json", env=kept.tmux).json
    assert (done["runtime"], done["reads"], done["draft"]) == ("other", "unknown", None)


@pytest.mark.parametrize(
    ("words", "code"), [((), 2), (("%0", "%1"), 2), (("%0", "--state", "odd"), 2), (("%999",), 3)]
)
def test_what_cannot_be_captured_is_said(kept: Kept, words: tuple[str, ...], code: int):
    kept.stage.run("cat")
    result = kept.cli("doctor", "capture", *words, env=kept.tmux)
    assert result.code == code
    assert is_told_well(result)


def test_an_index_that_is_none_is_left_as_it_is(tmp_path):
    (tmp_path / "index.json").write_text("[1]")
    with pytest.raises(Exception, match="no index of screens"):
        keep(str(tmp_path), Golden("idle", "x", {}))
    assert (tmp_path / "index.json").read_text() == "[1]"


def test_the_user_is_taken_out_and_every_line_stays_as_wide():
    screen = "/home/annabel/src │ annabel@box │ for annabel.lee@corp.example │ annabelle"
    plain = scrubbed(screen, "/home/annabel", "annabel", "box")
    assert "annabel@" not in plain
    assert "/home/annabel/" not in plain
    assert "lee" not in plain
    assert plain.endswith("annabelle")
    assert len(plain) == len(screen)
