"""What the model does in place of answering, for as long as a test wants it: a file beside its log says so.

    with model.log.fault(Fault("refuse", 429)):
        …                                # every request that asks for an answer is refused
    model.log.fault(Fault("cut"), about="MAIL-00", times=1)
    model.log.answer()                   # from now on it answers again

The file is read with each request, so the model may be another process, in another network namespace.
"""

import json
import os
import threading
from typing import Any, Literal, NamedTuple

Kind = Literal["refuse", "cut", "break", "hold", "stall"]


class Fault(NamedTuple):
    """One way not to answer.

    `refuse`: an HTTP status, and an error as the dialect has it. `cut`: the connection ends before a byte of
    an answer. `break`: it ends in the middle of the answer. `hold`: no byte comes until the client hangs up,
    or until the model is to answer again. `stall`: the same, but then the connection is cut: some clients
    go on with another turn, and hang up much later.
    """

    kind: Kind
    status: int = 0
    retry_after: int | None = None  # seconds, in the header of that name


class Order(NamedTuple):
    """A fault, and which requests it meets."""

    number: int  # of this order, so that a model that has read it can count
    fault: Fault
    about: str = ""  # a text that those requests have
    times: int | None = None  # how many of them; None: all, until the model is to answer again


def path(log: str) -> str:
    """The file of a model that logs there."""
    return f"{log}.fault"


def give(log: str, order: Order | None) -> None:
    """Let the next request that arrives be met by this; None: let it be answered."""
    whole = path(log)
    with open(f"{whole}.new", "w", encoding="utf-8") as file:
        json.dump(order and {**order._asdict(), "fault": order.fault._asdict()}, file)
    os.replace(file.name, whole)


class Orders:
    """The orders that a model was given; it counts how often each was carried out."""

    def __init__(self, log: str) -> None:
        self._path = path(log)
        self._met: dict[int, int] = {}
        self._guard = threading.Lock()

    def fault(self, body: dict[str, Any]) -> Fault | None:
        """What this request meets; counted."""
        with self._guard:
            order = self._order()
            if order is None or (order.about and order.about not in json.dumps(body, ensure_ascii=False)):
                return None
            met = self._met.get(order.number, 0)
            if order.times is not None and met >= order.times:
                return None
            self._met[order.number] = met + 1
            return order.fault

    def stands(self) -> bool:
        """Whether there is any order now."""
        return self._order() is not None

    def _order(self) -> Order | None:
        try:
            with open(self._path, encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            return None
        return found and Order(**{**found, "fault": Fault(**found["fault"])})
