"""What the API says of a row is read back as the same row."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from postroom.model.conversation import Decision, Gate, Thread, Topic
from postroom.model.ladder import Cause, Evidence, Outcome, Priority, State
from postroom.model.manners import Manners
from postroom.model.message import Agent, Attempt, Delivery, Event, Mail, Message, Project, Receipts, Sent
from postroom.model.query import Hit, Snippet
from postroom.model.tally import OfAgent, OfPair, Put, Saved, Spread, Stats
from postroom.protocol import record, unwire, wire
from postroom.text import encode

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
MOMENT = st.integers(0, 2**42)
NUMBER = st.integers(0, 2**31)
FACTS = st.dictionaries(TEXT, st.none() | st.booleans() | NUMBER | TEXT, max_size=3)
KNOWN: dict[str, st.SearchStrategy[Any]] = {
    "str": TEXT, "int": NUMBER, "bool": st.booleans(), "Json": FACTS, "float": st.floats(0, 1e6),
    "State": st.sampled_from(State), "Priority": st.sampled_from(Priority),
    "Outcome": st.sampled_from(Outcome), "Evidence": st.sampled_from(Evidence),
    "Cause": st.sampled_from(Cause),
    "list[str]": st.lists(TEXT, max_size=3), "None": st.none(),
    "list[Json]": st.lists(FACTS, min_size=1, max_size=2), "tuple[int, int]": st.tuples(NUMBER, NUMBER),
    "Spread": st.builds(Spread, NUMBER, NUMBER, NUMBER), "dict[str, Any]": FACTS,
}  # fmt: skip


def rows(kind: type, **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any row of a kind, by the types its fields are written with."""
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for name, said in kind.__annotations__.items():
        if name in fixed:
            fields[name] = fixed[name]
        elif name.endswith("_at") or name in ("not_before", "timestamp", "since", "at"):
            fields[name] = MOMENT if said is int else st.none() | MOMENT
        else:
            text = said.__name__ if isinstance(said, type) else str(said).replace("NoneType", "None")
            parts = [part.rpartition(".")[2] if "[" not in part else part for part in text.split(" | ")]
            fields[name] = st.one_of([KNOWN[_plain(part)] for part in parts])
    return st.builds(kind, **fields)


def _plain(part: str) -> str:
    if part.startswith(("dict[", "list[dict")):
        return "list[Json]" if part.startswith("list") else "Json"
    return part


MESSAGES = rows(Message)
DELIVERIES = rows(Delivery, context=st.none(), nonce=st.none(), claimer=st.none())
AGENTS = rows(Agent, id=TEXT.map(lambda text: f"a{text}"))


def read_back(write: Callable[[Any], Any], read: Callable[[Any], Any], row: Any) -> None:
    import json

    assert read(json.loads(encode(write(row)))) == row


@given(MESSAGES)
def test_a_message(row: Message):
    read_back(record.message, unwire.message, row)


@given(DELIVERIES)
def test_a_delivery_but_for_what_is_told_to_nobody(row: Delivery):
    read_back(record.delivery, unwire.delivery, row)


@given(st.builds(Mail, MESSAGES, DELIVERIES), TEXT)
def test_mail_and_its_claim(row: Mail, nonce: str):
    read_back(record.mail, unwire.mail, row)
    claimed = row._replace(delivery=row.delivery._replace(nonce=nonce))
    read_back(lambda mail: record.mail(mail, claimed=True), unwire.mail, claimed)
    assert "claim" not in record.mail(claimed)


@given(MESSAGES, st.lists(DELIVERIES, max_size=3), st.booleans(), TEXT)
def test_what_was_sent(message: Message, deliveries: list[Delivery], flag: bool, note: str):
    row = Sent(message, deliveries, ["stored"] * len(deliveries), flag, note, not flag)
    read_back(record.sent, unwire.sent, row)


@given(MESSAGES, st.lists(rows(Attempt, outcome=st.sampled_from([Outcome.PROVEN, Outcome.LOST])), max_size=3))
def test_receipts(message: Message, attempts: list[Attempt]):
    deliveries = [
        Delivery(message.seq, message.id, "a1", "x", State.SEEN, None, None, 1, 0, None, Priority.LOW, False,
                 False, None, None, None, None, None, 1, None, None, None, None)
    ]  # fmt: skip
    own = [one._replace(seq=message.seq, recipient_id="a1") for one in attempts]
    read_back(record.receipts, unwire.receipts, Receipts(message, deliveries, own))


@given(AGENTS)
def test_an_agent(row: Agent):
    read_back(record.agent, unwire.agent, row)


@given(rows(Manners, hours=st.none() | st.tuples(st.integers(0, 1439), st.integers(0, 1439))))
def test_manners(row: Manners):
    read_back(lambda manners: record.manners(manners, 0), unwire.manners, row._replace(zone=""))


@given(rows(Project), rows(Topic), st.builds(Thread, TEXT, TEXT, st.lists(TEXT), NUMBER, NUMBER, MESSAGES))
def test_projects_topics_and_threads(project: Project, topic: Topic, thread: Thread):
    read_back(wire.project, unwire.project, project)
    read_back(wire.topic, unwire.topic, topic)
    read_back(record.thread, unwire.thread, thread)


@given(MESSAGES, rows(Decision, answer=st.just(0)))
def test_a_gate(message: Message, decision: Decision):
    for one in (None, decision, Decision("", "why not", "", 0, 0)):
        for mine in (False, True):
            read_back(record.gate, unwire.gate, Gate(message, [decision.option], "d", ["x"], one, mine))


@given(rows(Event, message=st.none()), MESSAGES)
def test_an_event(row: Event, message: Message):
    for key in ("nonce", "message"):
        row.payload.pop(key, None)
    read_back(lambda event: record.event(event, "1"), unwire.event, row)
    stored = row._replace(type="message.sent", seq=message.seq, message=message)
    read_back(lambda event: record.event(event, "1"), unwire.event, stored)


@given(rows(OfAgent), rows(OfPair), rows(Put), rows(Saved), MESSAGES)
def test_statistics_and_hits(agent: OfAgent, pair: OfPair, put: Put, saved: Saved, message: Message):
    read_back(record.stats, unwire.stats, Stats(None, 1, [agent], [pair], [put], [saved]))
    read_back(record.hit, unwire.hit, Hit(message, [], Snippet("body", "text", [(0, 1)])))
