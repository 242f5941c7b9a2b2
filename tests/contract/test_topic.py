"""Topics: who follows one gets what is written to it from then on, and what was written can be looked up."""

import pytest

from postroom.errors import InvalidAddress, UnknownRecipient
from postroom.room.local import LocalRoom
from tests.contract.conftest import Enter


@pytest.fixture
def team(enter: Enter) -> LocalRoom:
    room = enter("planner")
    for agent in ("planner", "builder", "reviewer"):
        room.join(agent)
    return room


@pytest.mark.promise("topics")
def test_who_follows_a_topic_gets_what_is_written_to_it_from_then_on(team: LocalRoom, enter: Enter):
    team.subscribe("frontend", agent="builder")
    team.send("topic:frontend", "one")
    enter().subscribe("topic:frontend", agent="reviewer")
    team.send("#frontend", "two")
    enter().unsubscribe("#frontend", agent="builder")
    team.send("topic:frontend", "three")
    assert [mail.body for mail in team.peek("builder")] == ["one", "two"]
    assert [mail.body for mail in team.peek("reviewer")] == ["two", "three"]


@pytest.mark.promise("topics")
def test_whoever_writes_to_a_topic_does_not_get_it(team: LocalRoom):
    team.subscribe("frontend", agent="builder")
    team.subscribe("frontend")
    sent = team.send("topic:frontend", "hello")
    assert [d.recipient for d in sent.deliveries] == ["builder"]


@pytest.mark.promise("topics")
def test_what_was_written_to_a_topic_can_be_looked_up(team: LocalRoom):
    team.subscribe("frontend", agent="builder")
    for n in range(5):
        team.send("#frontend", str(n))
    assert [message.body for message in team.topic_history("frontend", limit=3)] == ["2", "3", "4"]
    assert {message.to for message in team.topic_history("frontend")} == {"topic:frontend"}
    [topic] = team.topics()
    assert topic[:4] == ("frontend", "p", 1, 5)


def test_following_twice_is_once(team: LocalRoom):
    assert team.subscribe("a") is True
    assert team.subscribe("a") is False
    assert team.unsubscribe("a") is True
    assert team.unsubscribe("a") is False
    assert team.topics() == []


@pytest.mark.promise("nobody-is-an-error")
def test_a_topic_that_nobody_follows_is_an_error_that_helps(team: LocalRoom):
    team.subscribe("frontend", agent="builder")
    with pytest.raises(UnknownRecipient) as refusal:
        team.send("topic:frontent", "hello")
    assert refusal.value.hint == "Did you mean topic:frontend?"
    with pytest.raises(UnknownRecipient, match="nobody but you") as refusal:
        team.send("topic:frontend", "hello", sender="builder")
    assert team.topic_history("frontend") == []


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "\x1b[31m", "a/b", "ü", "x" * 65, "\u202eabc", "topic:"])
def test_a_name_that_is_none_is_refused(team: LocalRoom, name: str):
    with pytest.raises(InvalidAddress):
        team.subscribe(name)
    with pytest.raises(InvalidAddress):
        team.send(f"topic:{name}", "hello")


def test_who_left_gets_nothing_of_a_topic_until_it_is_back(team: LocalRoom):
    team.subscribe("a", agent="builder")
    team.subscribe("a", agent="reviewer")
    team.leave("builder")
    assert [d.recipient for d in team.send("topic:a", "one").deliveries] == ["reviewer"]
    team.join("builder")
    assert len(team.send("topic:a", "two").deliveries) == 2


def test_projects_have_topics_of_their_own(team: LocalRoom, enter: Enter):
    team.subscribe("a", agent="builder")
    other = enter("q/ann")
    other.scope = type(other.scope)("q")
    other.join("q/ann")
    assert other.topics() == []
    other.subscribe("a")
    with pytest.raises(UnknownRecipient):
        team.send("topic:a", "for p", sender="builder")


def test_a_deleted_project_takes_its_topics_along(team: LocalRoom):
    team.subscribe("a", agent="builder")
    team.send("topic:a", "hello")
    team.delete_project("p")
    assert team.topics() == []
    assert list(team.store.whole().rows("subscription")) == []


def test_there_may_be_more_followers_than_a_page(team: LocalRoom):
    with team.write() as tx:
        facts = {"project": "p", "role": "", "capabilities": [], "description": "", "supervisor": None}
        for n in range(1100):
            tx.append("agent.joined", f"af{n:04}", payload={**facts, "name": f"f{n}"})
            tx.append("topic.subscribed", f"af{n:04}", payload={"project": "p", "topic": "news"})
    assert len(team.send("topic:news", "hello", confirm=True).deliveries) == 1100
    assert len(team.subscribers("news")) == 1100
    assert len(team.send("@all", "hello", confirm=True).deliveries) == 1102
