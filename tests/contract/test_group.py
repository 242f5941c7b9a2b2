"""Groups: whom they mean when something is sent, whom they never mean, and what is said if that is nobody."""

import pytest

from postroom.errors import BroadcastGuard, UnknownRecipient
from postroom.model.address import trade
from postroom.room.local import LocalRoom
from tests.contract.conftest import Enter


@pytest.fixture
def team(enter: Enter) -> LocalRoom:
    room = enter("planner")
    room.join("planner", role="planner")
    room.join("ada", role="builder", supervisor="planner")
    room.join("bob", role="Builders", capabilities=["python"])
    room.join("cy", capabilities=["code review", "Python"])
    return room


def whom(room: LocalRoom, to: str, *, sender: str | None = None, type: str = "note") -> list[str]:
    return sorted(d.recipient for d in room.send(to, "hello", sender=sender, type=type).deliveries)


@pytest.mark.promise("groups")
@pytest.mark.parametrize("group", ["@builder", "@builders", "@Builders"])
def test_a_group_is_everyone_with_that_role_in_singular_or_plural(team: LocalRoom, group: str):
    assert whom(team, group) == ["ada", "bob"]


@pytest.mark.promise("groups")
def test_a_capability_makes_a_group_too(team: LocalRoom):
    assert whom(team, "@python") == ["bob", "cy"]
    assert whom(team, "@code-reviews") == ["cy"]


@pytest.mark.promise("groups")
def test_a_group_never_means_the_sender(team: LocalRoom):
    assert whom(team, "@builders", sender="ada") == ["bob"]
    assert whom(team, "@all") == ["ada", "bob", "cy"]
    assert whom(team, "@all", sender="cy") == ["ada", "bob", "planner"]


@pytest.mark.promise("groups")
def test_membership_is_that_of_the_moment_of_sending(team: LocalRoom, enter: Enter):
    first = team.send("@builders", "before")
    enter().join("dan", role="builder")
    enter().leave("bob")
    assert whom(team, "@builders") == ["ada", "dan"]
    assert sorted(d.recipient for d in team.receipts(first.id).deliveries) == ["ada", "bob"]


def test_other_projects_and_people_are_not_in_a_group(team: LocalRoom):
    team.join("other/eve", role="builder")
    team.join("human:ana", role="builder")
    assert whom(team, "@builders") == ["ada", "bob"]
    assert whom(team, "@all") == ["ada", "bob", "cy"]


def test_the_message_says_to_which_group_it_went(team: LocalRoom):
    assert team.send("@Builders", "hello").message.to == "@builders"
    [mail] = team.peek("ada")
    assert mail.message.to == "@builders"


def test_each_of_a_group_has_a_delivery_of_its_own(team: LocalRoom):
    sent = team.send("@builders", "hello")
    team.ack(sent.id, agent="ada")
    states = {d.recipient: d.state.value for d in team.receipts(sent.id).deliveries}
    assert states == {"ada": "acked", "bob": "stored"}


@pytest.mark.promise("nobody-is-an-error")
@pytest.mark.parametrize(
    ("to", "hint"),
    [
        ("@bulder", "Did you mean @builder?"),
        ("@astronauts", "Groups here: @builder, @code-review, @planner, @python"),
        ("@planners", ""),
        ("one:@bulders", "Did you mean @builder?"),
        ("@builders:live", "Leave out :live"),
    ],
)
def test_a_group_that_means_nobody_is_an_error_that_helps(team: LocalRoom, to: str, hint: str):
    before = team.store.look().last_cursor()
    with pytest.raises(UnknownRecipient) as refusal:
        team.send(to, "hello")
    assert hint in refusal.value.hint
    assert team.store.look().last_cursor() == before


def test_live_means_those_who_listen_or_wait_now(team: LocalRoom, enter: Enter):
    listening = enter().listen("bob", timeout=0)
    assert whom(team, "@builders:live") == ["bob"]
    listening.close()  # type: ignore[attr-defined]
    waiter = team.bell.waiter(team.who("ada").id)
    assert whom(team, "@builders:live") == ["ada"]
    waiter.close()


@pytest.mark.promise("groups")
def test_up_is_the_senders_supervisor(team: LocalRoom):
    assert whom(team, "@up", sender="ada") == ["planner"]
    with pytest.raises(UnknownRecipient, match="bob has no supervisor"):
        team.send("@up", "help", sender="bob")


@pytest.mark.promise("escalation")
def test_an_escalation_without_an_address_goes_up_and_then_to_the_people(team: LocalRoom):
    assert whom(team, "", sender="ada", type="escalation") == ["planner"]
    with pytest.raises(UnknownRecipient, match="there are no people here"):
        team.send("", "help", sender="bob", type="escalation")
    team.join("human:ana")
    team.join("human:ben")
    assert whom(team, "", sender="bob", type="escalation") == ["human:ana", "human:ben"]
    team.leave("planner")
    assert whom(team, "@up", sender="ada", type="escalation") == ["human:ana", "human:ben"]


def test_groups_lists_them(team: LocalRoom):
    found = {name: [agent.name for agent in who] for name, who in team.groups().items()}
    assert found == {
        "builder": ["ada", "bob"],
        "code-review": ["cy"],
        "planner": ["planner"],
        "python": ["bob", "cy"],
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("builder", "builders"),
        ("utility", "utilities"),
        ("match", "matches"),
        ("box", "boxes"),
        ("boss", "Boss"),
    ],
)
def test_singular_and_plural_are_one(one: str, other: str):
    assert trade(one) == trade(other)


@pytest.mark.promise("broadcast-guard")
def test_what_would_reach_very_many_must_be_confirmed(enter: Enter):
    room = enter("planner", max_recipients=2)
    for agent in ("planner", "ada", "bob", "cy"):
        room.join(agent, role="worker")
    before = room.store.look().last_cursor()
    for to in ("@all", "@workers", "one:@workers"):
        with pytest.raises(BroadcastGuard, match="would reach 3; the limit is 2"):
            room.send(to, "hello")
    assert room.store.look().last_cursor() == before
    assert whom(room, "ada") == ["ada"]
    assert len(room.send("@all", "hello", confirm=True).deliveries) == 3
    assert len(enter("planner", max_recipients=0).send("@all", "hello").deliveries) == 3


def test_nobody_is_above_themselves(team: LocalRoom):
    team.join("bob", supervisor="bob")
    team.join("human:ana")
    with pytest.raises(UnknownRecipient):
        team.send("@up", "help", sender="bob")
    assert whom(team, "", sender="bob", type="escalation") == ["human:ana"]
