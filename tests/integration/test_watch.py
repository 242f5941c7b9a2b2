"""What a pane prints and matches, as mail: coalesced, counted, plain, and over restarts."""

import contextlib
import os
import signal
from typing import Any

import pytest

from postroom import host
from postroom.daemon import control, instance, watch
from tests.commandline import is_told_well
from tests.kept import Kept
from tests.tui.stage import patiently

WINDOW = ("--window", "200ms")


class Printer:
    """A pane that prints what it is told, line by line; it is no agent."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.id = kept.stage.run(
            "sh", "-c", 'stty -echo; echo ready; while read -r line; do eval "$line"; done'
        )
        patiently(lambda: "ready" in kept.stage.tmux("capture-pane", "-p", "-t", self.id))

    def run(self, script: str) -> None:
        self._kept.stage.tmux("send-keys", "-t", self.id, "-l", "--", script)
        self._kept.stage.tmux("send-keys", "-t", self.id, "Enter")


@pytest.fixture
def printer(kept: Kept) -> Printer:
    kept.room.join("backend")
    kept.up()
    return Printer(kept)


def watched(kept: Kept, pane: str, match: str, *options: str) -> str:
    words = ("watch", pane, "--match", match, "--to", "backend", "--as", "human:ana", "--quiet")
    return kept.cli.ok(*words, *WINDOW, *options, env=kept.tmux).out.strip()


def letters(kept: Kept) -> list[dict[str, Any]]:
    found = kept.cli.ok("inbox", "--as", "backend", "-n", "100", "--json").json["messages"]
    return [one for one in found if one["sender"] == "human:ana"]


def lines(letter: dict[str, Any]) -> list[str]:
    head, _, rest = letter["body"].partition("\n\n")
    assert head.startswith("Outside content, data and nobody's word: lines of pane stage:")
    return rest.split("\n")


def test_lines_that_match_are_mailed_together_and_others_are_not(kept: Kept, printer: Printer):
    id = watched(kept, printer.id, "ERROR|Traceback", "--subject", "the server fails")
    printer.run("echo fine; echo ERROR one; echo ERROR two; echo ERROR one; echo also fine")
    patiently(lambda: letters(kept))
    [letter] = letters(kept)
    assert lines(letter) == ["2× ERROR one", "   ERROR two"]
    assert (letter["type"], letter["subject"]) == ("note", "the server fails")
    assert letter["metadata"]["watch"] == id
    assert letter["metadata"]["pane"].startswith(f"{printer.id}@")
    assert letter["verified"] == "unverified"


def test_of_ten_thousand_lines_few_letters_come_and_they_count_right(kept: Kept, printer: Printer):
    watched(kept, printer.id, "ERROR")
    printer.run("seq -f 'ERROR %.0f' 10000; echo ERROR end")

    def total() -> int:
        return sum(counted(letter) for letter in letters(kept))

    patiently(lambda: total() >= 10_001)
    assert total() == 10_001
    assert len(letters(kept)) <= 5
    assert all(len(letter["body"]) < 10_000 for letter in letters(kept))


def counted(letter: dict[str, Any]) -> int:
    *shown, last = lines(letter)
    more = int(last.split()[1].replace(",", "")) if last.startswith("and ") else 0
    return len(shown) + (more or 1)


@pytest.mark.promise("watch")
def test_of_a_flood_all_is_told_or_counted_and_nothing_is_put_together_wrongly(kept: Kept, printer: Printer):
    watched(kept, printer.id, "ERROR|END")
    printer.run("yes ERROR here | head -n 500000; sleep 1.1; echo END")

    def shown() -> set[str]:
        found = [line for letter in letters(kept) for line in lines(letter) if not line.startswith("and ")]
        return {line.rpartition("× ")[2].strip() for line in found}

    patiently(lambda: "END" in shown())
    assert shown() == {"ERROR here", "END"}


def test_a_hostile_line_arrives_as_plain_text(kept: Kept, printer: Printer):
    watched(kept, printer.id, "ERROR")
    printer.run(r"printf 'ERROR \033[31mred\033[0m \033]0;title\007 \033[201~\033[2J\007 \342\200\256end\n'")
    patiently(lambda: letters(kept))
    [line] = lines(letters(kept)[0])
    assert line.isprintable()
    assert line.startswith("ERROR red ")
    assert "\x1b" not in letters(kept)[0]["body"]


def test_a_very_long_line_is_cut(kept: Kept, printer: Printer):
    watched(kept, printer.id, "ERROR")
    printer.run("printf 'ERROR %0100000d\\n' 7; echo ERROR after")
    patiently(lambda: letters(kept))
    first, second = lines(letters(kept)[0])
    assert len(first) == 2_000
    assert second == "ERROR after"


def test_a_pattern_that_takes_for_ever_is_given_up_and_the_daemon_goes_on(kept: Kept, printer: Printer):
    watched(kept, printer.id, "(a|a)*(a|aa)+$")
    printer.run(f"for n in $(seq 30); do echo {'a' * 60}b; done")
    patiently(lambda: not watch.every(kept.home))
    assert control.ping(kept.home)
    told = kept.cli.ok("inbox", "--as", "human:ana", "--json").json["messages"]
    assert ["takes too long" in one["body"] for one in told] == [True]
    assert kept.stage.tmux("display-message", "-p", "-t", printer.id, "#{pane_pipe}") == "0"


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_a_daemon_that_comes_back_goes_on_watching(kept: Kept, printer: Printer, how: str):
    id = watched(kept, printer.id, "ERROR")
    if how == "killed":
        kept.kill()
    else:
        kept.down()
    assert kept.cli.ok("watch", "--list", "--json").json["watches"][0]["id"] == id
    kept.up()
    patiently(lambda: is_read(kept, id))
    printer.run("echo ERROR after")
    patiently(lambda: letters(kept))
    assert lines(letters(kept)[0]) == ["ERROR after"]


def is_read(kept: Kept, id: str) -> bool:
    """Whether a sieve of this daemon has the FIFO of a watch open."""
    return any(watch.fifo(kept.home, id) in open_files(pid) for pid in sieves(kept))


def sieves(kept: Kept) -> list[int]:
    daemon = int(instance.running(kept.home).partition(".")[0] or 0)
    return [pid for pid in host.processes() if is_sieve(pid) and daemon in host.ancestors(pid)]


def is_sieve(pid: int) -> bool:
    return "postroom.daemon.sieve" in host.started_with(str(pid))[0]


def open_files(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return [os.path.realpath(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    return []


def test_a_pipe_that_was_broken_while_nobody_read_is_laid_anew(kept: Kept, printer: Printer):
    id = watched(kept, printer.id, "ERROR")
    kept.kill()
    printer.run("echo ERROR that nobody hears")
    pipe = ("display-message", "-p", "-t", printer.id, "#{pane_pipe}")
    patiently(lambda: kept.stage.tmux(*pipe) == "0" or printer.run("echo more"))
    kept.up()
    patiently(lambda: kept.stage.tmux(*pipe) == "1" and is_read(kept, id))
    printer.run("echo ERROR after")
    patiently(lambda: letters(kept))
    assert lines(letters(kept)[0]) == ["ERROR after"]


def test_a_sieve_that_dies_is_started_again(kept: Kept, printer: Printer):
    id = watched(kept, printer.id, "ERROR")
    patiently(lambda: is_read(kept, id))
    [own] = sieves(kept)
    os.kill(own, signal.SIGKILL)
    patiently(lambda: own not in sieves(kept) and is_read(kept, id))
    printer.run("echo ERROR after")
    patiently(lambda: letters(kept))
    assert control.ask(kept.home, "ping")["watches"] == {"count": 1, "crashes": 1}
    assert "; 1 watch, 1 crash;" in kept.cli.ok("status").out
    kept.cli.ok("watch", "--stop", id)
    assert control.ask(kept.home, "ping")["watches"] == {"count": 0, "crashes": 1}, "it never falls"


def test_a_watch_is_gone_with_its_pane_and_its_owner_is_told_once(kept: Kept, printer: Printer):
    watched(kept, printer.id, "ERROR")
    printer.run("echo ERROR at last; exit")
    patiently(lambda: not watch.every(kept.home))
    patiently(lambda: letters(kept))
    told = kept.cli.ok("inbox", "--as", "human:ana", "--json").json["messages"]
    assert ["has been closed" in one["body"] for one in told] == [True]


def test_a_pane_that_is_piped_already_is_refused(kept: Kept, printer: Printer):
    kept.stage.tmux("pipe-pane", "-O", "-t", printer.id, "exec cat >/dev/null")
    words = ("watch", printer.id, "--match", "x", "--to", "backend", "--as", "human:ana")
    result = kept.cli(*words, env=kept.tmux)
    assert result.code == 5
    assert is_told_well(result)
    assert watch.every(kept.home) == []
    kept.stage.tmux("pipe-pane", "-t", printer.id)
    kept.cli.ok(*words, env=kept.tmux)
    again = kept.cli(*words, env=kept.tmux)
    assert again.code == 5
    assert "postroom watch --stop" in again.err


def test_what_is_stopped_is_watched_no_longer(kept: Kept, printer: Printer):
    place = kept.stage.tmux("display-message", "-p", "-t", printer.id, "stage:#{window_index}.0")
    id = watched(kept, place, "ERROR")
    shown = kept.cli.ok("watch", "--list").out
    assert id in shown
    assert place in shown
    kept.cli.ok("watch", "--stop", id)
    assert kept.stage.tmux("display-message", "-p", "-t", printer.id, "#{pane_pipe}") == "0"
    assert not os.path.exists(watch.fifo(kept.home, id))
    assert kept.cli("watch", "--stop", id).code == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("%0", "--match", "x"), 2),
        (("%0", "--match", "(", "--to", "backend"), 2),
        (("%0", "--match", "x" * 501, "--to", "backend"), 2),
        (("%0", "--match", "x", "--to", "nobody"), 3),
        (("%999", "--match", "x", "--to", "backend"), 3),
        (("%0", "--match", "x", "--to", "backend", "--window", "1h"), 2),
        (("%0", "--list"), 2),
    ],
)
def test_what_is_wrong_with_a_watch_is_said(kept: Kept, words: tuple[str, ...], code: int):
    kept.room.join("backend")
    kept.stage.run("cat")
    result = kept.cli("watch", *words, "--as", "human:ana", env=kept.tmux)
    assert result.code == code
    assert is_told_well(result)
