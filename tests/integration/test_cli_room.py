"""Looking after a room by the command line."""

import json
import os
import select
from pathlib import Path

import pytest

from postroom.bell import polling
from postroom.cli.commands import status
from postroom.config import Settings
from postroom.room import local, premises
from postroom.store.sqlite.migrate import VERSION
from tests.commandline import CommandLine, is_told_well
from tests.process import BOUND


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "builder")
    return cli


def make_dead(cli: CommandLine) -> str:
    """A message that nobody could be shown to have seen."""
    message = cli.sent("builder", "cursed")
    room = local.LocalRoom(cli.home, Settings(max_unproven=1), agent="builder", project="p")
    mail = room.take(id=message, route="cli", handed=False)
    assert mail is not None
    with room.write() as tx:
        from postroom.room.sweep import give_back

        give_back(tx, mail, room.settings)
    room.close()
    return message


def test_status_says_where_the_room_is_and_what_is_in_it(cli: CommandLine):
    cli.sent("builder", "hello")
    report = cli.ok("status", "--json").json
    assert report["home"] == cli.home
    assert report["config"] == os.path.join(cli.home, "config.toml")
    assert report["store"]["path"] == os.path.join(cli.home, "room.db")
    assert (report["store"]["durability"], report["store"]["schema"]) == ("normal", VERSION)
    assert report["counts"] == {
        "agents": 2, "people": 0, "projects": 1, "messages": 1, "events": 3, "waiting": 1, "held": 0,
        "offered": 0, "dead": 0, "uncertain": 0,
    }  # fmt: skip
    assert report["journal"]["behind"] == 4
    assert report["warnings"] == []
    text = cli.ok("status").out
    assert report["room"] in text
    assert "1 message, 1 waiting, 0 in hand" in text
    assert "rings by Unix sockets" in text
    assert "4 events behind" in text
    assert "the store has them all; to write them: postroom journal sync" in text


def test_status_says_when_waiters_have_to_poll(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(premises, "_bell", lambda run: polling.PollingBell())
    assert "polls every 100 ms" in cli.ok("status").out


def test_status_warns_of_a_long_wal_and_of_dead_letters(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    make_dead(cli)
    monkeypatch.setattr(status, "WAL_LIMIT", -1)
    warnings = cli.ok("status", "--json").json["warnings"]
    assert "the WAL has grown to" in warnings[0]
    assert warnings[1] == "dead letters: 1; see: postroom dead"
    assert "warning: " in cli.ok("status").out


def test_status_names_who_listens(cli: CommandLine):
    room = local.open_room(cli.home, agent="builder", project="p")
    listening = room.listen(timeout=0)
    assert cli.ok("status", "--json").json["listeners"] == [{"agent": "p/builder", "process": os.getpid()}]
    assert list(listening) == []
    room.close()


def test_where_there_is_no_room_looking_finds_none_and_makes_none(home: str):
    cli = CommandLine(home)
    for command in (
        ["status"],
        ["inbox", "--as", "x"],
        ["agents"],
        ["log"],
        ["verify"],
        ["projects"],
        ["dead"],
        ["send", "builder", "hello", "--as", "x"],
        ["ask", "builder", "hello", "--as", "x"],
    ):
        result = cli(*command)
        assert result.code == 3, command
        assert "there is no room" in result.err, command
        assert is_told_well(result), command
    assert not os.path.exists(home)


def test_where_a_home_was_given_the_next_command_has_it_too(home: str, tmp_path: os.PathLike[str]):
    elsewhere = os.path.join(tmp_path, "else where")
    result = CommandLine(home)("status", "--home", elsewhere)
    assert result.err.endswith(f"postroom --home '{elsewhere}' join NAME\n")


def test_dead_letters_can_be_listed_shown_retried_and_purged(cli: CommandLine):
    assert cli.ok("dead").out == ""
    message = make_dead(cli)
    assert "unproven after 1 attempts" in cli.ok("dead", "list").out
    [dead] = cli.ok("dead", "--json").json["dead"]
    assert (dead["id"], dead["recipient"], dead["state"]) == (message, "builder", "dead")
    assert "✗ dead" in cli.ok("dead", "show", message).out
    assert "waits again for builder" in cli.ok("dead", "retry", message, "--to", "builder").out
    assert "cursed" in cli.ok("inbox", "--as", "builder").out
    again = cli("dead", "retry", message)
    assert again.code == 5
    assert f"postroom receipts {message[-8:]}\n" in again.err
    assert cli("dead", "purge", message, "--yes").code == 5, "it may still arrive"
    other = make_dead(cli)
    unsure = cli("dead", "purge", other)
    assert unsure.code == 2, "it must be meant"
    assert f"postroom dead purge {other[-8:]} --yes" in unsure.err
    assert cli.ok("dead", "purge", other, "--yes", "--json").json == {"purged": other}
    assert cli("receipts", other).code == 3


def test_dead_says_what_it_needs(cli: CommandLine):
    assert cli("dead", "retry").code == 2
    assert cli("dead", "list", "something").code == 2
    assert cli("dead", "bury").code == 2


def test_the_log_tells_every_change_in_order(cli: CommandLine):
    message = cli.sent("builder", "hello")
    cli.ok("read", "--as", "builder")
    types = [event["type"] for event in cli.ok("log", "--json").items]
    assert types[-3:] == ["message.sent", "delivery.offered", "delivery.seen"]
    lines = cli.ok("log", "--limit", "3").out.splitlines()
    assert len(lines) == 3
    assert all(message[-8:] in line for line in lines)
    assert "→ builder  note: hello" in lines[0]
    assert "attempt 1 by cli" in lines[1]
    concerning = [event["type"] for event in cli.ok("logs", "builder", "--json").items]
    assert concerning == ["agent.joined", "message.sent", "delivery.offered", "delivery.seen"]


def test_the_log_goes_on_as_things_happen(cli: CommandLine):
    with cli.start("log", "builder", "--follow", "--json") as follower:
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline())["type"] == "agent.joined"
        message = cli.sent("builder", "hello")
        cli.ok("ack", message, "--as", "builder")
        assert select.select([follower.stdout], [], [], BOUND)[0]
        events = [json.loads(follower.stdout.readline()) for _ in range(2)]
        assert [event["type"] for event in events] == ["message.sent", "delivery.acked"]
        assert {event["refs"]["message"] for event in events} == {message}


def test_the_journals_can_be_brought_up_to_date_and_found(cli: CommandLine):
    cli.sent("builder", "hello")
    assert cli.ok("journal", "status", "--json").json["behind"] == 4
    assert cli.ok("journal", "--json").json["mirrored"] == 4
    assert "0 events behind" in cli.ok("journal", "status").out
    path = cli.ok("journal", "path").out.strip()
    assert path == os.path.join(cli.home, "events")
    assert any(name.endswith(".jsonl") for name in os.listdir(path))
    assert "0 events written" in cli.ok("journal", "sync").out


def test_a_room_is_rebuilt_from_its_journals_with_the_same_digest(
    cli: CommandLine, tmp_path: os.PathLike[str]
):
    message = cli.sent("builder", "hello")
    cli.ok("ack", message, "--as", "builder")
    verified = cli.ok("verify", "--json").json
    assert verified["ok"]
    rebuilt = os.path.join(tmp_path, "rebuilt")
    done = cli.ok("replay", "--into", rebuilt, "--json").json
    assert done["digest"] == verified["digest"]
    assert cli.ok("verify", "--home", rebuilt, "--json").json["digest"] == verified["digest"]
    assert "hello" in cli.ok("thread", message, "--home", rebuilt).out
    again = cli("replay", "--into", rebuilt)
    assert again.code == 5
    assert is_told_well(again)
    elsewhere = os.path.join(tmp_path, "elsewhere")
    assert "replayed" in cli.ok("replay", "--from", cli.home, "--into", elsewhere).out
    none = cli("replay", "--from", str(tmp_path), "--into", os.path.join(tmp_path, "x"))
    assert none.code == 1
    assert "postroom journal. Or say where they are: --from DIR" in none.err


def test_verify_finds_what_is_wrong_and_exits_1(cli: CommandLine):
    cli.sent("builder", "hello")
    assert "The room is sound." in cli.ok("verify").out
    assert "skipped" in cli.ok("verify", "--quick").out
    assert cli("verify", "--quick", "--deep").code == 2
    import sqlite3

    with sqlite3.connect(os.path.join(cli.home, "room.db")) as store:
        store.execute("UPDATE delivery SET attempts = 7")
    store.close()
    result = cli("verify", "--quick")
    assert result.code == 1
    assert "wrong" in result.out


def test_a_backup_can_be_put_back(cli: CommandLine, tmp_path: os.PathLike[str]):
    message = cli.sent("builder", "precious")
    path = os.path.join(tmp_path, "copy.db")
    assert cli.ok("backup", path, "--json").json["path"] == path
    assert cli("backup", path).code == 5
    cli.ok("backup", path, "--force")
    cli.ok("projects", "delete", "p", "--yes")
    assert cli("receipts", message).code == 3
    assert cli("restore", path).code == 2, "it must be meant"
    assert "before-restore-" in cli.ok("restore", path, "--yes").out
    assert "precious" in cli.ok("inbox", "--as", "builder").out
    assert cli("restore", os.path.join(tmp_path, "nothing.db"), "--yes").code == 3
    other = os.path.join(tmp_path, "other.txt")
    with open(other, "w") as file:
        file.write("no room")
    damaged = cli("restore", other, "--yes")
    assert damaged.code == 1
    assert f"{other} is damaged" in damaged.err
    assert "Nothing was changed" in damaged.err


def test_prune_removes_what_ended_and_keeps_what_may_still_arrive(cli: CommandLine):
    over = cli.sent("builder", "over")
    waiting = cli.sent("builder", "waiting")
    cli.ok("ack", over, "--as", "builder")
    assert cli.ok("prune", "--before", "1h", "--yes", "--json").json["messages"] == 0
    unsure = cli("prune", "--before", "0s")
    assert unsure.code == 2, "it must be meant"
    assert "pruning removes 1 message for good" in unsure.err
    assert "If so: postroom prune --before 0s --yes" in unsure.err
    assert cli.receipt(over)["state"] == "acked"
    assert "1 message removed" in cli.ok("prune", "--before", "0s", "--yes").out
    assert cli("receipts", over).code == 3
    assert cli.receipt(waiting)["state"] == "stored"
    assert cli("prune", "--before", "2999-01-01").code == 2
    assert cli.ok("verify", "--json").json["ok"]


def test_redact_takes_the_content_out_and_leaves_the_receipt(cli: CommandLine):
    message = cli.sent("builder", "the password is swordfish", "--subject", "secret")
    unsure = cli("redact", message)
    assert unsure.code == 2, "it must be meant"
    assert f"If so: postroom redact {message[-8:]} --yes" in unsure.err
    assert "swordfish" in cli.ok("thread", message).out
    result = cli.ok("redact", message[-8:], "--yes")
    assert "redacted" in result.out
    assert "Backups made before" in result.err
    shown = cli.ok("read", "--as", "builder").out
    assert "(redacted)" in shown
    assert "swordfish" not in shown
    assert cli.ok("redact", message, "--yes", "--json").json["message"] == message
    assert "(redacted)" in cli.ok("sent", "--as", "planner").out


def test_bench_measures_a_scratch_room_and_leaves_nothing(cli: CommandLine):
    report = cli.ok("bench", "--count", "10", "--json").json
    assert set(report["seconds"]) == {"send", "take", "ack"}
    assert all(0 < figures["p50"] <= figures["p99"] for figures in report["seconds"].values())
    assert "a second" in cli.ok("bench", "--count", "10").out
    assert not [name for name in os.listdir(cli.home) if "bench" in name]
    few = cli("bench", "--count", "5")
    assert few.code == 2
    assert few.err.endswith("See: postroom help bench\n")


def test_status_counts_people_beside_agents(cli: CommandLine):
    cli.ok("join", "human:ana")
    counts = cli.ok("status", "--json").json["counts"]
    assert (counts["agents"], counts["people"]) == (1, 1)
    assert "1 agent in 1 project and 1 person" in cli.ok("status").out


def test_status_says_where_the_log_is_of_a_daemon_that_has_ended(cli: CommandLine):
    log = Path(cli.ok("status", "--json").json["daemon"]["log"])
    assert "; log" not in cli.ok("status").out
    log.parent.mkdir(exist_ok=True)
    log.touch()
    assert f"none; log {log}" in cli.ok("status").out


def test_who_is_asked_for_by_a_whole_address_is_not_looked_for_in_the_project_around(cli: CommandLine):
    assert cli("screen", "demo/clerk", "--json").error["message"] == "there is no agent 'demo/clerk'"
    assert " in " in cli("screen", "clerk", "--json").error["message"]
