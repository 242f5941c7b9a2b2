"""What happens in a process that does not hold its session: another one has started or resumed it since.

One conversation can be open in two terminals (`claude -c`, twice). Its mail is shown in one of them. Only a
start moves it: were any event to do so, mail would go back and forth between them, each time unproven.
"""

from postroom import host
from postroom.hooks import journal
from postroom.model.message import Session
from postroom.room.seat import Seat
from postroom.runtimes.contract import Kind


def is_part(known: Session, kind: Kind) -> bool:
    """Whether the process that holds it is above this hook: then one of its own has run it."""
    return kind is not Kind.END and known.process in host.lineage()


def tell(home: str, words: list[str], known: Session, seat: Seat) -> None:
    """Note, once, why a process is shown nothing."""
    theirs, ours = (process.partition(".")[0] for process in (known.process, seat.process))
    note = f"{known.id} goes on in process {theirs}: until that ends, process {ours} is shown no mail"
    if not any(line.endswith(note) for line in journal.last(home, most=1000)):
        journal.note(home, words, note)
