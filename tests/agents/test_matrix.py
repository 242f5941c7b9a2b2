"""A receipt says `seen` only of what a model has answered: each fault, in each mode, of each agent CLI.

The rows are in `matrix.py`. The witness is the model's own log, which has what became of each request. Cells
of one CLI and mode share its start, so they run one after another; each is held by itself, and after one
that failed the next has a start of its own. `make matrix` runs three such groups at a time.
"""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.agents.desk import Posted
from tests.agents.fault import Fault
from tests.agents.kept import Kept
from tests.agents.kept_acp import KeptAcp
from tests.agents.kept_typed import KeptTyped
from tests.agents.log import BOUND, until
from tests.agents.matrix import CELLS, FAULTS, MODES, Cell

SIX = ("claude", "codex", "gemini", "opencode", "qwen", "copilot")


class Shelf:
    """Keeps one agent, of the CLI and mode that were last asked for."""

    def __init__(self) -> None:
        self._kept: Kept | None = None
        self._label = ("", "")

    def get(self, cli: str, mode: str) -> Kept:
        if self._kept is None or self._label != (cli, mode):
            self.clear()
            way, _, name = cli.rpartition("/")
            self._kept, self._label = _MAKES[way](name), (cli, mode)
        return self._kept

    def clear(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None


@pytest.fixture(scope="module")
def shelf() -> Iterator[Shelf]:
    made = Shelf()
    yield made
    made.clear()


def idle(kept: Kept, cell: Cell) -> None:
    assert kept.terminal.alive()
    with kept.fault(cell.meets) as mark:
        one = kept.desk.post(mark)
        is_idle = _fail(kept, one, cell)
    kept.wait_over(kept.terminal, is_stopped=bool(cell.stopped_after))
    kept.come(one)
    kept.check_read(one)
    assert is_idle, "it counts as busy after its turn has failed"


def tool(kept: Kept, cell: Cell) -> None:
    end = kept.start_tool()
    with kept.fault(cell.meets) as mark:
        one = kept.desk.send(mark=mark)
        end()
        is_idle = _fail(kept, one, cell)
    kept.wait_over(kept.terminal, is_stopped=bool(cell.stopped_after))
    kept.come(one)
    kept.check_read(one)
    assert is_idle, "it counts as busy after its turn has failed"


def _fail(kept: Kept, one: Posted, cell: Cell) -> bool:
    """The turn with mail comes to its end; whether the agent counts as idle then.

    Where a person has stopped it, some tell nobody: only their next event does.
    """
    kept.wait_shown(one)
    if cell.goes_on_after:
        kept.wait_tries(one, cell.goes_on_after)
        kept.check_unread(one)
        return True
    kept.wait_given_up(one, cell.stopped_after)
    kept.check_unread(one)
    is_idle = not cell.tells or kept.looks_idle()
    kept.check_unread(one)
    return is_idle


def headless(kept: Kept, cell: Cell) -> None:
    with kept.fault(cell.meets) as mark:
        one = kept.desk.send(mark=mark)
        kept.run()
        kept.wait_shown(one)
        kept.check_unread(one)
    done = kept.run()
    assert done.code == 0, done
    kept.check_read(one)


def again(kept: Kept, cell: Cell) -> None:
    assert kept.terminal.alive()
    with kept.fault(cell.meets) as mark:
        one = kept.desk.post(mark)
        _fail(kept, one, cell)
        if cell.goes_on_after:
            kept.kill()
        else:
            kept.quit()
        kept.check_unread(one)
    kept.come(one)
    kept.check_read(one)


def by_acp(kept: Kept, cell: Cell) -> None:
    assert isinstance(kept, KeptAcp)
    with kept.fault(cell.meets) as mark:
        one = kept.desk.send(mark=mark)
        kept.wait_shown(one)
        kept.wait_given_up(one, cell.stopped_after)
        kept.check_unread(one)
    if cell.stopped_after:
        kept.let_go(one)
    kept.come_by_turn(one)
    kept.check_read(one)


def by_typing(kept: Kept, cell: Cell) -> None:
    """Where it works when the mail comes, that is a turn of its own; the one before is answered."""
    terminal = kept.terminal
    if cell.mode == "busy":
        script = f"[[sleep 3]] [[say SLOWLY-{cell.fault}]]"
        terminal.submit(script)
        until(lambda: any(script in each.text for each in kept.log.requests()), BOUND, "request")
    with kept.log.fault(cell.meets):
        one = kept.desk.send()
        kept.wait_shown(one)
        kept.wait_given_up(one, cell.stopped_after)
        kept.check_unread(one)
    kept.come(one)
    kept.check_read(one)


_PLAYS: dict[str, Callable[[Kept, Cell], None]] = {
    "idle": idle,
    "tool": tool,
    "headless": headless,
    "again": again,
}
_WAYS = {"acp": by_acp, "typed": by_typing}
_MAKES: dict[str, Callable[[str], Kept]] = {"acp": KeptAcp, "typed": KeptTyped, "": Kept}


@pytest.mark.parametrize(
    "cell",
    [pytest.param(cell, id=cell.id) for cell in CELLS if not cell.missing],
)
def test_only_an_answer_makes_mail_seen_and_it_comes_when_there_is_one(shelf: Shelf, cell: Cell) -> None:
    try:
        play = _WAYS.get(cell.cli.partition("/")[0]) or _PLAYS[cell.mode]
        play(shelf.get(cell.cli, cell.mode), cell)
    except BaseException:
        shelf.clear()
        raise


@pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.id) for cell in CELLS if cell.missing])
def test_a_mode_that_a_cli_does_not_have_is_not_there(shelf: Shelf, cell: Cell) -> None:
    """Who stops it stops nothing: the request goes on, and its answer is the turn's."""
    kept = shelf.get(cell.cli, cell.mode)
    one = kept.desk.send()
    with contextlib.ExitStack() as stack:
        stack.enter_context(kept.log.fault(Fault("hold")))
        if isinstance(kept, KeptAcp):
            kept.wait_shown(one)
            assert not kept.interrupt()
        else:
            assert (cell.mode, cell.fault) == ("headless", "esc")
            terminal = stack.enter_context(kept.run_in_terminal())
            kept.wait_shown(one)
            for _ in range(3):
                kept.stop(terminal)
                terminal.settle()
        assert not any(each.outcome for each in kept.asked(one)), kept.report(one)
        kept.log.answer()
        until(lambda: kept.log.answered(one.mark), BOUND, f"answer: {kept.report(one)}")
        if not isinstance(kept, KeptAcp):  # there what a person has told to stop is `uncertain`
            kept.check_read(one)


def test_each_of_the_six_has_a_row_for_each_mode_and_fault() -> None:
    rows = {(cell.cli, cell.mode, cell.fault) for cell in CELLS}
    assert len(rows) == len(CELLS)
    wanted = {(cli, mode, fault) for cli in SIX for mode in MODES for fault in FAULTS}
    assert wanted <= rows, sorted(wanted - rows)
