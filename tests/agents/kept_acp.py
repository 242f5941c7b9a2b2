"""An agent that speaks ACP and its daemon, kept from one cell of the matrix to the next."""

import contextlib
import json
from collections.abc import Iterator

from postroom.model.ladder import State
from tests.agents.clis import CLIS
from tests.agents.desk import ANA, NAME, Desk, Posted, postroom_in
from tests.agents.fault import Fault
from tests.agents.kept import Kept, installed
from tests.agents.log import BOUND, until
from tests.agents.rig import Rig
from tests.agents.test_acp import Spoken


class KeptAcp(Kept):
    """Each cell begins when it is idle, and leaves it so."""

    def __init__(self, name: str) -> None:
        self.rig = Rig(CLIS[installed(name)])
        self.desk = Desk(self.rig).move_in()
        self.log = self.rig.log
        self._terminal = None
        self._number = 0
        self.spoken = Spoken(self.desk)
        self.spoken.env |= self.rig.cli.hurry(self.rig.place)
        self.spoken.spawn()
        until(self.is_idle, BOUND, "idle agent")

    def is_idle(self) -> bool:
        return all(each.outcome for each in self.log.requests()) and self.spoken.doing() == "idle"

    @contextlib.contextmanager
    def fault(self, fault: Fault) -> Iterator[str]:
        with self.log.fault(fault):
            yield self.desk.mark()

    def interrupt(self) -> bool:
        """Whether its turn was seen to end."""
        words = ("interrupt", NAME, "--as", ANA, "--json")
        done = postroom_in(self.rig, *words, POSTROOM_PROJECT="shop")
        return bool(json.loads(done.stdout)["proven"])

    def wait_given_up(self, one: Posted, stopped_after: int) -> None:
        """Wait until its turn is over, as the daemon knows: it has it in hand no more."""
        if stopped_after:
            until(lambda: len(self.asked(one)) >= stopped_after, BOUND, "requests")
            assert self.interrupt()
        until(
            lambda: self.desk.delivery(one.id).state is not State.OFFERED and self.spoken.doing() == "idle",
            2 * BOUND,
            "end of the turn",
        )

    def let_go(self, one: Posted) -> None:
        """What a person has stopped, a person lets go again: it is `uncertain`, and said to be so."""
        until(lambda: self.desk.delivery(one.id).reason == "uncertain", BOUND, f"doubt: {self.report(one)}")
        self.spoken("dead", "retry", one.id)

    def come_by_turn(self, one: Posted) -> None:
        """The model answers again: a person has it begin a turn, and mail comes."""
        for _ in range(3):
            if self.desk.is_seen(one.id):
                return
            self._number += 1
            self._have_answered(one, f"[[say WORD-{self._number}]]")

    def _have_answered(self, one: Posted, script: str) -> None:
        taken: list[bool] = []

        def is_taken() -> bool:
            taken[:] = [self._takes(script)]
            return taken[0] or self.desk.is_seen(one.id)

        until(is_taken, BOUND, "agent that takes a prompt")
        if taken[0]:
            until(lambda: self.log.answered(script), BOUND, "answer")
        until(self.is_idle, BOUND, "idle agent")

    def _takes(self, script: str) -> bool:
        """Whether it begins a turn with a person's words; not while it is in another."""
        done = postroom_in(self.rig, "command", NAME, script, POSTROOM_PROJECT="shop")
        return done.returncode == 0

    def close(self) -> None:
        self.spoken.down()
        super().close()
