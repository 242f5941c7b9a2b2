"""What an agent CLI may meet while it has mail in hand, as data: one row a cell.

`acp/NAME` is that CLI where it is spoken to by ACP; there `esc` is `postroom interrupt`. `typed/NAME` has its
mail typed: the receipt then says `terminal`, that the composer took it, which is no word of a model. In the
mode `busy` it works when the mail comes.

A row is a CLI, a mode and a fault. The modes: `idle`, the mail wakes it; `tool`, the mail comes with the
result of a tool; `headless`, the mail waits for a run that ends; `again`, it wakes it, and the CLI is ended
before the model answers, and started again. The faults: the model refuses with a status, the connection is
cut before an answer, or a person stops the turn (`esc`).

A row with `MISSING` is a cell that the CLI does not have; the words say why, and how that was checked.
"""

from typing import NamedTuple

from tests.agents.fault import Fault

FAULTS = {
    "429": Fault("refuse", 429),
    "400": Fault("refuse", 400),
    "500": Fault("refuse", 500),
    "cut": Fault("cut"),
    "esc": Fault("stall"),  # until the person has stopped it
}
MODES = ("idle", "tool", "headless", "again")
# They try a refused request again for minutes, unless it says when: no setting of theirs makes that shorter.
_SOON = {429: Fault("refuse", 429, retry_after=1), 500: Fault("refuse", 500, retry_after=1)}
_PATIENT = ("opencode", "qwen", "copilot")
# Here they do not listen to that either. In a terminal a person stops them after so many tries; what runs
# headless comes to its own end.
_ENDLESS = {("opencode", "cut"), ("qwen", "500"), ("qwen", "cut")} | {
    ("aider", fault) for fault in ("429", "500", "cut")
}
# Gemini CLI goes on trying after Escape, too: there the model answers one of the tries, or it is killed.
_DEAF = {("gemini", "429"), ("gemini", "500")}
_TRIES = 3


class Cell(NamedTuple):
    """One row."""

    cli: str
    mode: str
    fault: str
    missing: str = ""

    @property
    def id(self) -> str:
        return f"{self.cli}-{self.mode}-{self.fault}"

    @property
    def name(self) -> str:
        """Of the CLI, however it is spoken to."""
        return self.cli.rpartition("/")[2]

    @property
    def meets(self) -> Fault:
        """What the model does."""
        fault = FAULTS[self.fault]
        return _SOON.get(fault.status, fault) if self.name in _PATIENT else fault

    @property
    def stopped_after(self) -> int:
        """After how many requests a person stops it; 0: it gives up by itself."""
        return 1 if self.fault == "esc" else _TRIES if (self.name, self.fault) in _ENDLESS else 0

    @property
    def tells(self) -> bool:
        """Whether anything tells that its turn is over: Copilot CLI calls its last error recoverable, too."""
        return not self.stopped_after and self.cli != "copilot"

    @property
    def goes_on_after(self) -> int:
        """After how many requests the model answers, while it still tries; 0: after it has given up."""
        return _TRIES if (self.name, self.fault) in _DEAF and self.mode != "headless" else 0


def _cell(line: str) -> Cell:
    row, _, missing = line.partition("MISSING")
    return Cell(*row.split(), missing=missing.strip(": "))


TABLE = """
claude   idle     429
claude   idle     400
claude   idle     500
claude   idle     cut
claude   idle     esc
claude   tool     429
claude   tool     400
claude   tool     500
claude   tool     cut
claude   tool     esc
claude   headless 429
claude   headless 400
claude   headless 500
claude   headless cut
claude   headless esc  MISSING: a run reads no keys; pressed in its terminal, Escape changes nothing
claude   again    429
claude   again    400
claude   again    500
claude   again    cut
claude   again    esc
codex    idle     429
codex    idle     400
codex    idle     500
codex    idle     cut
codex    idle     esc
codex    tool     429
codex    tool     400
codex    tool     500
codex    tool     cut
codex    tool     esc
codex    headless 429
codex    headless 400
codex    headless 500
codex    headless cut
codex    headless esc  MISSING: a run reads no keys; pressed in its terminal, Escape changes nothing
codex    again    429
codex    again    400
codex    again    500
codex    again    cut
codex    again    esc
gemini   idle     429
gemini   idle     400
gemini   idle     500
gemini   idle     cut
gemini   idle     esc
gemini   tool     429
gemini   tool     400
gemini   tool     500
gemini   tool     cut
gemini   tool     esc
gemini   headless 429
gemini   headless 400
gemini   headless 500
gemini   headless cut
gemini   headless esc  MISSING: a run reads no keys; pressed in its terminal, Escape changes nothing
gemini   again    429
gemini   again    400
gemini   again    500
gemini   again    cut
gemini   again    esc
opencode idle     429
opencode idle     400
opencode idle     500
opencode idle     cut
opencode idle     esc
opencode tool     429
opencode tool     400
opencode tool     500
opencode tool     cut
opencode tool     esc
opencode headless 429
opencode headless 400
opencode headless 500
opencode headless cut
opencode headless esc  MISSING: a run reads no keys; pressed in its terminal, Escape changes nothing
opencode again    429
opencode again    400
opencode again    500
opencode again    cut
opencode again    esc
qwen     idle     429
qwen     idle     400
qwen     idle     500
qwen     idle     cut
qwen     idle     esc
qwen     tool     429
qwen     tool     400
qwen     tool     500
qwen     tool     cut
qwen     tool     esc
qwen     headless 429
qwen     headless 400
qwen     headless 500
qwen     headless cut
qwen     headless esc  MISSING: a run reads no keys; pressed in its terminal, Escape changes nothing
qwen     again    429
qwen     again    400
qwen     again    500
qwen     again    cut
qwen     again    esc
copilot  idle     429
copilot  idle     400
copilot  idle     500
copilot  idle     cut
copilot  idle     esc
copilot  tool     429
copilot  tool     400
copilot  tool     500
copilot  tool     cut
copilot  tool     esc
copilot  headless 429
copilot  headless 400
copilot  headless 500
copilot  headless cut
copilot  headless esc  MISSING: a run reads no keys; pressed in its terminal, Escape changes nothing
copilot  again    429
copilot  again    400
copilot  again    500
copilot  again    cut
copilot  again    esc
goose    idle     429
goose    idle     400
goose    idle     500
goose    idle     cut
goose    idle     esc
goose    headless 429
goose    headless 400
goose    headless 500
goose    headless cut
goose    again    429
goose    again    400
goose    again    500
goose    again    cut
goose    again    esc
typed/aider  idle 429
typed/aider  idle 400
typed/aider  idle 500
typed/aider  idle cut
typed/aider  idle esc
typed/aider  busy 429
typed/aider  busy 400
typed/aider  busy cut
acp/gemini   idle 429
acp/gemini   idle 400
acp/gemini   idle 500
acp/gemini   idle cut
acp/gemini   idle esc
acp/opencode idle 429
acp/opencode idle 400
acp/opencode idle 500
acp/opencode idle cut
acp/opencode idle esc
acp/qwen     idle 429
acp/qwen     idle 400
acp/qwen     idle 500
acp/qwen     idle cut
acp/qwen     idle esc
acp/copilot  idle 429
acp/copilot  idle 400
acp/copilot  idle 500
acp/copilot  idle cut
acp/copilot  idle esc
acp/goose    idle 429
acp/goose    idle 400
acp/goose    idle 500
acp/goose    idle cut
acp/goose    idle esc  MISSING: goose ends no turn whose request is open; `postroom interrupt` says so
acp/claude   idle 429
acp/claude   idle 400
acp/claude   idle 500
acp/claude   idle cut
acp/claude   idle esc
acp/codex    idle 429
acp/codex    idle 400
acp/codex    idle 500
acp/codex    idle cut
acp/codex    idle esc
"""

CELLS = [_cell(line) for line in TABLE.splitlines() if line.strip()]
