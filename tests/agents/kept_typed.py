"""An agent that has no way in but its terminal, kept from one cell of the matrix to the next."""

from postroom.model.ladder import Evidence
from tests.agents.clis import CLIS
from tests.agents.desk import Desk, Posted
from tests.agents.kept import Kept, installed
from tests.agents.log import BOUND, until
from tests.agents.pane import Pane
from tests.agents.rig import Rig
from tests.agents.terminal import Terminal


class KeptTyped(Kept):
    """Its mail is typed. The receipt says `terminal`: that its composer took the text, and no more."""

    def __init__(self, name: str) -> None:
        self.rig = Rig(CLIS[installed(name)])
        self.desk = Desk(self.rig).move_in()
        self.log = self.rig.log
        self._terminal = None
        self._number = 0

    def _start(self) -> Terminal:
        terminal = self.desk.terminal()
        pane = Pane(self.desk, terminal)
        pane.begin()
        pane.adopt("--no-server")
        return terminal

    def ask(self, terminal: Terminal, script: str = "[[say WORD-%]]") -> None:
        self._number += 1
        terminal.submit(script.replace("%", str(self._number)))
        until(lambda: self.log.answered(f"WORD-{self._number}"), BOUND, "answer")
        self.wait_over(terminal)

    def check_unread(self, one: Posted) -> None:
        """No model has read it, and nothing says that one has."""
        assert not self.log.answered(one.mark), self.report(one)
        assert self.desk.delivery(one.id).evidence in (None, Evidence.TERMINAL), self.report(one)

    def come(self, one: Posted) -> None:
        """The model answers again: a person writes, and mail is in that conversation."""
        self.ask(self.terminal)
        assert self.log.answered(one.mark), self.report(one)

    def check_read(self, one: Posted) -> None:
        """A model that answered has read it, once."""
        until(lambda: self.desk.is_seen(one.id), BOUND, f"receipt: {self.report(one)}")
        assert self.desk.delivery(one.id).evidence is Evidence.TERMINAL
        assert self.log.answered(one.mark)[-1].text.count(one.mark) == 1, self.report(one)
