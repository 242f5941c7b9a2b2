"""The Python API: what it exports, that its documented examples run, and what each call gives back."""

import inspect
import os
import re
import subprocess
import sys

import pytest

import postroom
from postroom.errors import (
    IllegalMove,
    InvalidAddress,
    InvalidValue,
    NameTaken,
    NoIdentity,
    Refused,
    TimedOut,
    UnknownAgent,
    UnknownMessage,
    UnknownRecipient,
)
from postroom.model.ladder import State
from postroom.room.contract import Room
from postroom.room.local import LocalRoom
from postroom.room.remote import RemoteRoom
from tests.conftest import OpenRoom
from tests.process import ROOT, Child, environment
from tests.repository import make_repository

DOCUMENTED = ["README.md", os.path.join("docs", "howto", "python-agent.md")]


# exports


@pytest.mark.promise("exports")
def test_everything_promised_can_be_imported():
    assert len(postroom.__all__) == 15  # fourteen names, and the one that opens a room
    for name in postroom.__all__:
        assert getattr(postroom, name) is not None
    with pytest.raises(AttributeError):
        postroom.nothing_of_that_name  # noqa: B018
    scope: dict[str, object] = {}
    exec("from postroom import *", scope)
    assert set(postroom.__all__) <= set(scope)


def test_importing_the_package_loads_none_of_it():
    code = "import sys, postroom; sys.exit(any(name.startswith('postroom.') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment()).returncode == 0


@pytest.mark.parametrize("kind", [LocalRoom, RemoteRoom])
def test_a_room_can_do_all_that_a_room_promises(kind: type):
    for name, promised in inspect.getmembers(Room, inspect.isfunction):
        if name.startswith("_"):
            continue
        done = inspect.signature(getattr(kind, name)).parameters
        for parameter in list(inspect.signature(promised).parameters.values())[1:]:
            assert parameter.name in done, f"{name}({parameter.name})"
        assert inspect.getdoc(promised), name


def test_every_error_has_a_code_of_its_own_and_a_sentence():
    from postroom import errors

    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.PostroomError)
    ]
    codes = [kind.code for kind in kinds]
    assert len(codes) == len(set(codes)) > 20
    for kind in kinds:
        error = kind()
        assert str(error).endswith(".")
        assert error.as_json()["error"] == kind.code
        assert kind.__name__ in (errors.__doc__ or ""), f"{kind.__name__} is not in the tree"


# documented examples


def examples(page: str) -> list[str]:
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)


EXAMPLES = [(page, number) for page in DOCUMENTED for number in range(len(examples(page)))]


@pytest.mark.promise("examples")
@pytest.mark.parametrize(("page", "number"), EXAMPLES)
def test_a_documented_example_does_what_it_says(page: str, number: int, room: LocalRoom, home: str):
    """Played by a process of its own; this one is the rest of the world."""
    code = examples(page)[number]
    room.join("reviewer")
    asked = room.send("builder", "which parser?", type="request").message
    if "room.idle()" in code:
        room.settle(room.take("builder") or pytest.fail("no request"))
    else:
        room.withdraw(asked.id)
    with Child("example", page, number, POSTROOM_HOME=home, POSTROOM_PROJECT="p") as child:
        assert child.hear() == "ready"
        child.tell("go")
        if "room.ask(" in code:
            [asked] = room.wait("reviewer", timeout=10)
            room.reply(asked.id, "Yes, it is.", agent="reviewer")
            assert child.hear() == "Yes, it is.\n"
        elif "room.idle()" in code:
            assert child.hear() == f"left without an answer: {asked.handle} which parser?\n"
            assert room.wait("planner", timeout=10)[0].message.reply_to == asked.id
        elif "room.listen()" in code:
            sent = room.send("builder", "the parser")
            [answer] = room.wait("planner", timeout=10)
            assert re.fullmatch(r"Built:? the parser", answer.body)
            assert answer.message.reply_to == sent.id
        elif "retry_after=" in code:
            assert child.process.wait(10) == 0
        elif "room.take(" in code:
            sent = room.send("builder", "the parser")
            assert room.until(sent.id, "acked", timeout=10)[0].state is State.ACKED
        elif "room.until(" in code:
            mail = room.take("builder", timeout=10)
            assert mail is not None
            room.settle(mail)
            assert child.hear() == "builder seen agent\n"
        else:
            pytest.fail(f"an example nobody plays with: {code}")


def test_the_example_of_the_package_itself_runs(home: str):
    lines = (postroom.__doc__ or "").splitlines()
    code = "\n".join(line.strip() for line in lines[1:])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(POSTROOM_HOME=home),
        cwd=os.path.dirname(home),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ran.returncode == 0, ran.stderr
    with postroom.open(home, project="default") as room:
        assert [mail.body for mail in room.peek("builder")] == ["Please build the parser."]


# calls


@pytest.mark.core
def test_sending_says_what_is_true_now(room: LocalRoom):
    sent = room.send("builder", "hello", subject="s", type="status", metadata={"a": 1}, requires_ack=True)
    assert sent.deliveries[0] == room.receipts(sent.id).deliveries[0]
    assert sent.message == room.receipts(sent.id).message
    assert (sent.reach, sent.duplicate) == (["stored"], False)
    assert sent.message.thread == sent.id
    assert sent.message.verified == "unverified"


@pytest.mark.core
def test_what_was_peeked_taken_and_received_agree(room: LocalRoom):
    for n in range(3):
        room.send("builder", str(n), expires=100, priority="high" if n else "low")
    for peeked in room.peek("builder"):
        receipt = room.receipts(peeked.id)
        assert peeked.message == receipt.message
        assert peeked.delivery == receipt.deliveries[0]
    while (mail := room.take("builder")) is not None:
        assert mail.delivery == room.receipts(mail.id).deliveries[0]
        settled = room.settle(mail)
        assert settled == room.receipts(mail.id).deliveries[0]
        acked = room.ack(mail)
        assert acked == room.receipts(mail.id).deliveries[0]


def test_asking_gives_the_answer_and_marks_it_seen(room: LocalRoom, home: str):
    with Child("answer", home, "builder", "42") as child:
        child.hear()
        answer = room.ask("builder", "what is it?", timeout=10)
    assert answer.body == "42"
    assert room.receipts(answer.id).deliveries[0].state is State.SEEN
    assert room.peek("planner") == []
    [asked] = [message for message, _ in room.sent("planner")]
    assert (asked.type, asked.requires_ack) == ("request", True)
    assert room.receipts(asked.id).deliveries[0].state is State.ACKED


def test_asking_in_vain_says_how_far_the_question_got(room: LocalRoom):
    with pytest.raises(TimedOut) as refusal:
        room.ask("builder", "anyone?", timeout=0.01)
    assert "stored" in refusal.value.hint
    assert [mail.body for mail in room.peek("builder")] == ["anyone?"]


def test_a_question_that_is_refused_is_refused_to_the_asker(room: LocalRoom, home: str):
    with Child("refuse", home, "builder", "not my job") as child:
        child.hear()
        with pytest.raises(Refused, match="not my job"):
            room.ask("builder", "please?", timeout=10)
    assert room.peek("planner") == []


def test_asking_while_another_listens_leaves_the_answer_to_the_listener(room: LocalRoom, home: str):
    with Child("listen", home, "planner") as listener, Child("answer", home, "builder", "42") as child:
        assert listener.hear() == "listening"
        child.hear()
        assert room.ask("builder", "what is it?", timeout=10).body == "42"
        listener.tell("next")
        assert listener.hear()["body"] == "42"


def test_a_thread_holds_the_whole_conversation(room: LocalRoom):
    first = room.send("builder", "question")
    answer = room.reply(first.id, "answer", agent="builder")
    room.reply(answer.id, "thanks", agent="planner")
    room.send("builder", "by the way", thread=answer.message.handle)
    room.send("builder", "something else")
    for ref in (first.id, answer.id, answer.message.handle):
        bodies = [message.body for message in room.thread(ref)]
        assert bodies == ["question", "answer", "thanks", "by the way"]


def test_a_reply_acknowledges_and_correlates(room: LocalRoom):
    first = room.send("builder", "question", correlation="c-1")
    answer = room.reply(first.message.handle, "answer", agent="builder")
    assert (answer.message.correlation, answer.message.reply_to) == ("c-1", first.id)
    assert answer.message.to == "planner"
    assert room.receipts(first.id).deliveries[0].state is State.ACKED
    with pytest.raises(UnknownMessage):
        room.reply(first.id, "who, me?", agent="planner")


def test_the_room_itself_takes_no_answers(room: LocalRoom):
    room.nack(room.send("builder", "one").id, "no", agent="builder")
    [letter] = room.peek("planner")
    with pytest.raises(UnknownMessage):
        room.reply(letter.id, "but why?", agent="planner")


def test_only_what_nobody_has_seen_can_be_withdrawn_and_only_by_its_sender(room: LocalRoom):
    sent = room.send("builder", "one")
    with pytest.raises(IllegalMove, match="not yours"):
        room.withdraw(sent.id, sender="builder")
    mail = room.take("builder")
    assert mail is not None
    room.settle(mail)
    with pytest.raises(IllegalMove, match="seen"):
        room.withdraw(sent.id)


def test_refusing_bounces_once_with_the_reason(room: LocalRoom):
    sent = room.send("builder", "one")
    for _ in range(2):
        assert room.nack(sent.id, "too late", agent="builder").state is State.BOUNCED
    [letter] = room.peek("planner")
    assert letter.payload is not None
    assert letter.payload["bounce"]["message"] == sent.id
    assert letter.payload["bounce"]["recipient"] == "builder"
    assert "too late" in letter.body
    with pytest.raises(IllegalMove):
        room.ack(sent.id, agent="builder")


@pytest.mark.promise("project")
def test_agents_of_one_name_in_two_projects_are_two(open_room: OpenRoom, room: LocalRoom):
    room.join("other/builder")
    room.send("other/builder", "for the other one")
    room.send("builder", "for this one")
    assert [mail.body for mail in room.peek("builder")] == ["for this one"]
    assert [mail.body for mail in room.peek("other/builder")] == ["for the other one"]
    assert room.peek("other/builder")[0].sender == "p/planner", "an address it can write back to"
    assert room.peek("builder")[0].sender == "planner"


@pytest.mark.promise("project")
def test_two_repositories_of_one_name_do_not_share_their_agents(home: str, tmp_path, monkeypatch):
    for where in ("here", "there"):
        make_repository(tmp_path / where / "shop")
    monkeypatch.chdir(tmp_path / "here" / "shop")
    with postroom.open(home, agent="planner") as one:
        one.join("builder")
        one.send("builder", "a secret of the first shop")
    monkeypatch.chdir(tmp_path / "there" / "shop")
    with postroom.open(home, agent="builder") as two:
        with pytest.raises(UnknownAgent):
            two.peek()
        with pytest.raises(UnknownRecipient):
            two.send("planner", "hello")
        two.join("builder")
        assert two.peek() == []
        assert sorted(project.name for project in two.projects()) == ["shop", "shop-2"]


@pytest.mark.promise("rename")
def test_a_rename_keeps_mail_threads_and_id_and_is_noticed_by_processes_that_run(room: LocalRoom, open_room):
    warm = open_room("planner")
    sent = warm.send("builder", "one")
    renamed = room.rename("carpenter", agent="builder")
    assert renamed.id == sent.deliveries[0].recipient_id
    assert [mail.id for mail in room.peek("carpenter")] == [sent.id]
    assert warm.receipts(sent.id).deliveries[0].recipient == "carpenter"
    with pytest.raises(UnknownRecipient):
        warm.send("builder", "two")
    room.join("builder")
    warm.send("builder", "for the new one")
    assert [mail.body for mail in warm.peek("carpenter")] == ["one"]
    assert [mail.body for mail in warm.peek("builder")] == ["for the new one"]


def test_names_that_are_taken_or_the_rooms_own_are_refused(room: LocalRoom):
    with pytest.raises(NameTaken):
        room.rename("planner", agent="builder")
    with pytest.raises(NameTaken):
        room.rename("postroom", agent="builder")
    with pytest.raises(InvalidAddress):
        room.join("postroom")
    assert room.rename("builder", agent="builder").name == "builder"


def test_who_has_left_keeps_its_mail_and_comes_back_by_joining(room: LocalRoom):
    room.leave("builder")
    assert [status.agent.name for status in room.agents()] == ["planner"]
    assert room.send("builder", "are you there?").reach == ["left"]
    assert [status.reach for status in room.agents(everyone=True)] == ["left", "stored"]
    room.join("builder")
    assert [mail.body for mail in room.peek("builder")] == ["are you there?"]
    assert room.send("builder", "welcome back").reach == ["stored"]


def test_a_project_that_is_deleted_takes_its_agents_and_mail_along(room: LocalRoom, open_room):
    warm = open_room("planner")
    warm.send("builder", "one")
    room.join("human:ana")
    assert room.delete_project("p") == 1
    assert [status.agent.name for status in room.agents()] == ["ana"]
    with pytest.raises(UnknownRecipient):
        warm.send("builder", "two")


def test_who_does_not_say_who_it_is_is_asked(open_room: OpenRoom, room: LocalRoom):
    nobody = open_room()
    for act in (nobody.peek, nobody.take, nobody.wait, nobody.listen, lambda: nobody.send("builder", "x")):
        with pytest.raises(NoIdentity) as refusal:
            act()
        assert "--as" in refusal.value.hint


def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(room: LocalRoom):
    with pytest.raises(UnknownRecipient) as refusal:
        room.send("bulider", "hello")
    assert "p/builder" in refusal.value.hint
    with pytest.raises(InvalidValue):
        room.until(room.send("builder", "x").id, "read")


def test_people_have_addresses_too(room: LocalRoom):
    room.join("human:ana")
    sent = room.send("human:ana", "please decide")
    assert sent.deliveries[0].recipient == "human:ana"
    answer = room.reply(sent.id, "yes", agent="human:ana")
    assert answer.message.sender == "human:ana"
    assert [mail.sender for mail in room.peek("planner")] == ["human:ana"]


def test_the_environment_says_who_and_where_when_the_program_does_not(home: str, monkeypatch):
    monkeypatch.setenv("POSTROOM_HOME", home)
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_DURABILITY", "full")
    with postroom.open() as room:
        room.join("builder")
        assert room.peek() == []
        assert room.home == home
        assert room.who().project == "p"
        assert room.store.durability == "full"
    with pytest.raises(InvalidValue):
        postroom.open(durability="maximal")
