"""What a sandbox keeps out of the room is spooled in the workspace, and taken in by the session's hook."""

import json
import os
import shutil
import stat
import subprocess
from typing import Any

import pytest

from postroom import config
from postroom.hooks import journal
from postroom.hooks.intake import MOST
from postroom.hooks.stub import stub
from postroom.room import spool
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.machine import other_user, sealed, unshare
from tests.player import Player


@pytest.fixture
def player(home: str, room: LocalRoom, tmp_path: os.PathLike[str]):
    """An agent `backend` in a workspace of its own, whose room has `planner` and `builder`."""
    with Player(home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="backend") as player:
        player.hook("SessionStart", source="startup")
        yield player


def spooled(player: Player, *argv: str, inner: tuple[str, ...] = (), **options: Any) -> dict[str, Any]:
    """Run a command in the sandbox, where it must leave a letter; what it says."""
    answer = player.ok(*argv, prefix=(*sealed(player.home), *inner), **options)
    assert answer["state"] == "spooled"
    assert os.path.exists(answer["path"])
    return answer


def hidden() -> tuple[str, ...]:
    """The words that run a command where the processes around it cannot be seen."""
    return tuple(unshare("--pid", "--fork", "--mount-proc"))


def outbox(player: Player, name: str = "") -> str:
    return os.path.join(player.cwd, ".postroom", "outbox", name)


def aside(player: Player) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(player.cwd, ".postroom", "rejected")))
    except FileNotFoundError:
        return []


@pytest.mark.promise("spool")
def test_what_a_sandbox_keeps_out_is_spooled_and_taken_in_by_the_next_hook(room: LocalRoom, player: Player):
    first = spooled(
        player, "send", "builder", "hi", "--subject", "s", "--payload", '{"a": 1}', "--after", "1ms"
    )
    spooled(player, "send", "builder", "again", "--priority", "high", "--as", "backend.x")
    assert first["path"] == outbox(player, f"{first['id']}.json")
    assert stat.S_IMODE(os.stat(first["path"]).st_mode) == 0o600
    assert room.peek("builder") == []
    player.hook("PostToolBatch")
    high, plain = room.peek("builder")
    assert (plain.body, plain.subject, plain.payload) == ("hi", "s", {"a": 1})
    assert (plain.sender, plain.message.verified, plain.message.sender_session) == (
        "backend", "hook", "claude:s1:main",
    )  # fmt: skip
    assert (high.body, high.sender, high.message.verified) == ("again", "backend.x", "hook")
    assert not os.path.exists(outbox(player))
    assert aside(player) == []
    player.hook("Stop")
    assert len(room.peek("builder")) == 2


@pytest.mark.promise("spool")
def test_a_reply_and_an_ack_are_spooled_too(room: LocalRoom, player: Player):
    asked, told = room.send("backend", "?", type="request"), room.send("backend", "fyi", requires_ack=True)
    spooled(player, "reply", asked.message.handle, "yes")
    spooled(player, "ack", told.id)
    player.hook("PostToolBatch")
    [answer] = room.peek("planner")
    assert (answer.body, answer.message.reply_to, answer.message.verified) == ("yes", asked.id, "hook")
    assert [room.receipts(one.id).deliveries[0].state for one in (asked, told)] == ["acked", "acked"]


@pytest.mark.promise("spool")
def test_a_letter_that_is_taken_in_twice_is_one_message(room: LocalRoom, player: Player):
    """As after a hook that was killed before it could remove the file."""
    path = spooled(player, "send", "builder", "hi")["path"]
    refused = spooled(player, "send", "nobody", "hi")["path"]
    with open(path, "rb") as file, open(refused, "rb") as other:
        kept = {path: file.read(), refused: other.read()}
    shown: list[bool] = []
    for _ in range(2):
        for name, content in kept.items():
            os.makedirs(outbox(player), exist_ok=True)
            with open(name, "wb") as file:
                file.write(content)
        shown.append("was refused" in player.hook("PostToolBatch").out)
        assert not os.path.exists(path)
    assert len(room.peek("builder")) == 1
    assert shown == [True, False]


@pytest.mark.promise("spool")
@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["send", "nobody", "hi"], "unknown_recipient"),
        (["send", "builder", "hi", "--as", "planner"], "not_your_name"),  # which cannot be known in there
        (["ack", "00000000"], "unknown_message"),
    ],
)
def test_what_is_refused_only_then_is_told_to_who_wrote_it(
    room: LocalRoom, player: Player, argv: list[str], error: str
):
    letter = spooled(player, *argv, inner=hidden())
    told = player.hook("UserPromptSubmit", prompt="go").out
    assert "was refused" in told
    assert error in told
    assert room.peek("builder") == []
    assert not os.path.exists(letter["path"])


def test_a_letter_is_left_to_the_session_it_names_while_that_lives(
    room: LocalRoom, player: Player, home: str
):
    letter = spooled(player, "send", "builder", "hi")
    with Player(home, player.cwd, "s2") as other:
        other.hook("SessionStart")
        assert os.path.exists(letter["path"])
        player.end()
        other.hook("PostToolBatch")
    [mail] = room.peek("builder")
    assert (mail.sender, mail.message.verified, mail.message.sender_session) == (
        "backend",
        "unverified",
        None,
    )


def test_a_letter_that_names_no_session_is_believed_and_unverified(room: LocalRoom, player: Player):
    spooled(player, "send", "builder", "hi", "--as", "planner", inner=hidden(), CLAUDE_CODE_SESSION_ID="")
    player.hook("PostToolBatch")
    assert senders(room) == [("planner", "unverified", None)]


# who wrote it


def senders(room: LocalRoom) -> list[tuple[str, str, str | None]]:
    """Who has written to `builder`, how that is known, and in which session."""
    return [(m.sender, m.message.verified, m.message.sender_session) for m in room.peek("builder")]


def refused(player: Player, *argv: str, **env: str) -> str:
    """Run a command in the sandbox that must leave nothing; the code of its error."""
    done = player.shell("send", "builder", "hi", *argv, "--json", prefix=sealed(player.home), **env)
    assert done.code != 0
    assert not os.path.exists(outbox(player))
    return done.error["error"]


@pytest.mark.promise("spool-identity")
def test_who_would_be_refused_by_the_room_is_refused_by_the_spool(player: Player, home: str):
    token = CommandLine(home).ok("tokens", "issue", "planner", "--json").json["token"]
    assert refused(player, "--as", "planner") == "not_your_name"
    assert refused(player, POSTROOM_TOKEN=token) == "not_your_name"
    assert refused(player, POSTROOM_TOKEN="pr_no") == "unknown_token"


@pytest.mark.promise("spool-identity")
@pytest.mark.parametrize("sees", [False, True])
def test_a_letter_of_an_agent_inside_another_is_not_the_word_of_the_one_around_it(
    room: LocalRoom, player: Player, tmp_path: os.PathLike[str], sees: bool
):
    """Its own hooks tell nothing: it is known by its process, or by what it adds to the environment."""
    codex = os.path.join(tmp_path, "codex")
    with open(codex, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n"$@"\nexit $?\n')
    os.chmod(codex, 0o755)
    where = () if sees else hidden()
    spooled(player, "send", "builder", "by its process", inner=(*where, codex))
    spooled(player, "send", "builder", "by a variable", inner=where, CODEX_THREAD_ID="t1")
    player.hook("PostToolBatch")
    assert senders(room) == [("backend", "unverified", None)] * 2, "by the name that it has inherited"
    assert refused(player, POSTROOM_AGENT="", CODEX_THREAD_ID="t1") == "no_identity"


@pytest.mark.promise("spool-identity")
def test_a_letter_of_who_has_a_token_is_its_agents_and_has_not_the_token_in_it(
    room: LocalRoom, player: Player, home: str
):
    token = CommandLine(home).ok("tokens", "issue", "planner", "--json").json["token"]
    with Player(home, player.cwd, "none", "other") as program:
        assert refused(program) == "no_identity"
        path = spooled(program, "send", "builder", "hi", POSTROOM_TOKEN=token)["path"]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert token not in text
    assert not any(name in text for name in os.listdir(config.beside(home, "tokens"))), "which all can read"
    player.hook("PostToolBatch")
    assert senders(room) == [("planner", "token", None)]


@pytest.mark.promise("spool-identity")
def test_a_token_that_is_worth_nothing_by_then_is_refused_and_told(room: LocalRoom, player: Player):
    own = player.ok("tokens", "issue", "backend")["token"]
    spooled(player, "send", "builder", "in time", POSTROOM_TOKEN=own)
    player.hook("PostToolBatch")
    assert senders(room) == [("backend", "token", "claude:s1:main")]
    spooled(player, "send", "builder", "too late", POSTROOM_TOKEN=own)
    player.ok("tokens", "revoke", "backend")
    assert "unknown_token" in player.hook("PostToolBatch").out
    assert len(room.peek("builder")) == 1


# hostile


@pytest.mark.promise("spool-hostile")
def test_what_is_no_letter_of_this_room_is_put_aside_and_never_followed(
    room: LocalRoom, player: Player, tmp_path: os.PathLike[str], home: str
):
    good = spooled(player, "send", "builder", "hi")["path"]
    with open(good, encoding="utf-8") as file:
        document = json.load(file)
    document["letter"]["words"]["body"] = "forged"
    name = "01900000-0000-7000-8000-00000000000{}.json"
    elsewhere = os.path.join(tmp_path, "elsewhere.json")
    os.rename(good, elsewhere)
    os.symlink(elsewhere, outbox(player, name.format(1)))
    os.link(elsewhere, outbox(player, name.format(2)))
    os.mkfifo(outbox(player, name.format(3)))
    os.mkdir(outbox(player, name.format(4)))
    for n, content in (
        (5, b"not json"),
        (6, b"[]"),
        (7, json.dumps(document).encode()),
        (8, b"{" + b" " * (9 << 20)),
    ):
        with open(outbox(player, name.format(n)), "wb") as file:
            file.write(content)
    with open(good, "w", encoding="utf-8") as file:  # in order but for its mark
        json.dump(document, file)
    with open(outbox(player, "README"), "w", encoding="utf-8") as file:
        file.write("hello")
    player.hook("PostToolBatch")
    assert room.peek("builder") == []
    assert aside(player) == sorted([*(name.format(n) for n in range(1, 9)), os.path.basename(good), "README"])
    assert os.path.exists(elsewhere)
    with open(journal.path(home), encoding="utf-8") as file:
        assert file.read().count("spool ") == 10
    warnings = CommandLine(home).ok("status", "--json").json["warnings"]
    assert any("put aside, not letters: 10" in warning for warning in warnings)


@pytest.mark.promise("spool-hostile")
def test_what_a_cloned_repository_brings_is_moved_nowhere_but_aside(
    room: LocalRoom, player: Player, tmp_path: os.PathLike[str]
):
    hooks = os.path.join(tmp_path, "hooks")  # of git, say: what comes there is run
    os.makedirs(hooks)
    os.makedirs(outbox(player))
    os.symlink(hooks, os.path.join(player.cwd, ".postroom", "rejected"))
    with open(outbox(player, "post-commit"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    with open(outbox(player, "deep.json"), "w", encoding="utf-8") as file:
        file.write("[" * 200_000)
    room.send("builder", "mail-1")
    player.hook("SessionStart", source="startup")
    assert os.listdir(hooks) == []
    assert "Your address" in player.hook("SessionStart", source="compact").out


@pytest.mark.promise("spool-hostile")
def test_an_outbox_that_is_a_link_or_anothers_is_not_looked_into(
    room: LocalRoom, player: Player, tmp_path: os.PathLike[str]
):
    letter = spooled(player, "send", "builder", "hi")
    real = os.path.join(tmp_path, "real")
    os.rename(outbox(player), real)
    os.symlink(real, outbox(player).rstrip("/"))
    player.hook("PostToolBatch")
    assert room.peek("builder") == []
    os.unlink(outbox(player).rstrip("/"))
    os.rename(real, outbox(player))
    os.chown(outbox(player), other_user(), -1)
    player.hook("PostToolBatch")
    assert room.peek("builder") == []
    os.chown(outbox(player), os.geteuid(), -1)
    os.chown(letter["path"], other_user(), -1)
    player.hook("PostToolBatch")
    assert room.peek("builder") == []
    assert aside(player) == [f"{letter['id']}.json"]


def test_the_outbox_is_at_the_root_of_the_checkout_and_git_does_not_see_it(room: LocalRoom, player: Player):
    subprocess.run(["git", "init", "-q", player.cwd], check=True, capture_output=True)
    below = os.path.join(player.cwd, "src", "deep")
    os.makedirs(below)
    letter = spooled(player, "send", "builder", "hi", cwd=below)
    assert os.path.dirname(letter["path"]) == outbox(player).rstrip("/")
    status = subprocess.run(
        ["git", "-C", player.cwd, "status", "--porcelain"], check=True, capture_output=True
    )
    assert status.stdout == b""
    player.hook("PostToolBatch")
    assert len(room.peek("builder")) == 1


@pytest.mark.promise("spool")
def test_the_quiet_marker_does_not_keep_a_letter_waiting(room: LocalRoom, player: Player):
    player.hook("Stop")
    assert room.quiet.until(room.who("backend").id)
    command = stub(room.home, "Stop", "echo ran", "s1")
    quiet = subprocess.run(["sh", "-c", command], cwd=player.cwd, check=True, capture_output=True)
    assert quiet.stdout == b""
    spooled(player, "send", "builder", "hi")
    lifted = subprocess.run(["sh", "-c", command], cwd=player.cwd, check=True, capture_output=True)
    assert lifted.stdout == b"ran s1\n"


def test_the_words_say_that_it_is_not_stored(player: Player):
    done = player.shell("send", "builder", "hi", prefix=sealed(player.home))
    assert done.code == 0
    assert "spooled, not stored" in done.out
    assert "the next hook of this session takes it in" in done.out
    waiting = player.shell("send", "builder", "hi", "--wait", "seen", "--json", prefix=sealed(player.home))
    assert (waiting.code, waiting.json["state"]) == (4, "spooled")
    told = player.shell("status", "--json")
    assert any("spooled, not stored: 2" in warning for warning in told.json["warnings"])


def test_what_is_wrong_in_itself_is_refused_at_once(player: Player):
    refused = player.shell("send", "builder", "hi", "--type", "nonsense", prefix=sealed(player.home))
    assert refused.code == 2
    attached = player.shell("send", "builder", "hi", "--attach", "/etc/hostname", prefix=sealed(player.home))
    assert attached.code == 1
    assert not os.path.exists(outbox(player))


def test_where_no_session_takes_letters_in_nothing_is_spooled(home: str, room: LocalRoom, tmp_path: Any):
    assert spool.secret(home) == b""
    with Player(home, os.path.join(tmp_path, "work")) as nobody:
        done = nobody.shell("send", "builder", "hi", "--as", "planner", prefix=sealed(home))
        assert done.code == 1
        assert "cannot be" in done.err
        assert os.listdir(nobody.cwd) == []


def test_a_full_or_closed_workspace_is_told_and_leaves_nothing(room: LocalRoom, player: Player):
    script = 'mount -t tmpfs -o size=4k tmpfs "$0" && cd "$0" && "$@"; code=$?; ls -A .postroom; exit $code'
    full = ("sh", "-c", script, player.cwd)
    done = player.shell("send", "builder", "hi", prefix=(*sealed(player.home), *full))
    assert done.code == 1
    assert f"nor can it be spooled: {player.cwd} cannot be written: No space left" in done.err
    assert done.out == ".gitignore\n"
    closed = player.shell("send", "builder", "hi", prefix=(*sealed(player.home), *sealed(player.cwd)))
    assert closed.code == 1
    assert "nor can it be spooled: the workspace cannot be written" in closed.err


def test_half_a_letter_of_who_was_killed_does_not_keep_the_outbox(room: LocalRoom, player: Player):
    os.makedirs(outbox(player))
    for name in (".old.json", ".new.json"):
        with open(outbox(player, name), "w", encoding="utf-8") as file:
            file.write("{")
    os.utime(outbox(player, ".old.json"), (1, 1))
    player.hook("Stop")
    assert os.listdir(outbox(player)) == [".new.json"]
    os.utime(outbox(player, ".new.json"), (1, 1))
    player.hook("Stop")
    assert not os.path.exists(outbox(player))


def test_a_busy_room_is_not_taken_for_a_sandbox(room: LocalRoom, player: Player):
    with open(os.path.join(player.home, "config.toml"), "w", encoding="utf-8") as file:
        file.write("busy_seconds = 0.01\n")
    with room.write():
        busy = player.shell("send", "builder", "hi", "--json")
    assert (busy.code, busy.error["error"]) == (1, "store_busy")
    assert not os.path.exists(outbox(player))


@pytest.mark.promise("spool")
def test_a_letter_left_or_a_hook_run_in_any_directory_is_found(
    room: LocalRoom, player: Player, tmp_path: os.PathLike[str]
):
    below, elsewhere = os.path.join(player.cwd, "src", "deep"), os.path.join(tmp_path, "elsewhere")
    os.makedirs(below)
    os.makedirs(elsewhere)
    player.hook("Stop")
    command = stub(room.home, "Stop", "echo ran", "s1")
    for number, (left, found) in enumerate(
        [(below, below), (below, elsewhere), (elsewhere, player.cwd), (elsewhere, elsewhere)], start=1
    ):
        quiet = subprocess.run(["sh", "-c", command], cwd=found, check=True, capture_output=True)
        assert quiet.stdout == b""
        letter = spooled(player, "send", "builder", f"hi {number}", cwd=left)
        assert letter["path"] == outbox(player, f"{letter['id']}.json")
        woken = subprocess.run(["sh", "-c", command], cwd=found, check=True, capture_output=True)
        assert woken.stdout == b"ran s1\n"
        player.hook("Stop", cwd=found)
        assert len(room.peek("builder")) == number


def test_a_session_that_has_ended_or_whose_directory_is_gone_leaves_its_letters_where_it_stands(
    room: LocalRoom, player: Player, home: str, tmp_path: os.PathLike[str]
):
    elsewhere = os.path.join(tmp_path, "elsewhere")
    os.makedirs(elsewhere)
    os.rename(player.cwd, os.path.join(tmp_path, "renamed"))
    letter = spooled(player, "send", "builder", "hi", cwd=elsewhere)
    assert letter["path"].startswith(elsewhere)
    os.rename(os.path.join(tmp_path, "renamed"), player.cwd)
    links = os.path.join(f"{home}-hooks", "outbox")
    assert sorted(os.listdir(links)) == ["claude:s1:main", "s1"]
    player.hook("SessionEnd")
    assert os.listdir(links) == []


@pytest.mark.promise("spool")
@pytest.mark.parametrize("former", [False, True])
def test_a_letter_outlives_a_wiped_run_directory(room: LocalRoom, player: Player, home: str, former: bool):
    """`former`: the key lay in it once, and is brought out by the next start of a session."""
    if former:
        os.rename(os.path.join(home, "outbox.key"), os.path.join(home, "run", "outbox.key"))
    spooled(player, "send", "builder", "hi")
    if former:
        player.hook("SessionStart", source="compact")
        spooled(player, "send", "builder", "again")
    shutil.rmtree(os.path.join(home, "run"))
    player.hook("PostToolBatch")
    assert {mail.body for mail in room.peek("builder")} == ({"hi", "again"} if former else {"hi"})
    assert aside(player) == []


def test_letters_that_are_left_to_another_session_do_not_keep_ours_waiting(
    room: LocalRoom, player: Player, home: str
):
    with Player(home, player.cwd, "s2", POSTROOM_AGENT="other") as idle:
        idle.hook("SessionStart", source="startup")
        for n in range(MOST + 1):
            words = {"to": "planner", "body": "theirs", "confirm": False, "options": {}}
            letter = {
                "id": f"00000000-0000-7000-8000-{n:012x}", "verb": "send", "claim": "", "inherited": "",
                "sessions": ["claude:s2:main"], "project": "p", "words": words,
            }  # fmt: skip
            spool.put(home, player.cwd, letter)
        spooled(player, "send", "builder", "ours")
        player.hook("PostToolBatch")
        assert [mail.body for mail in room.peek("builder")] == ["ours"]
        assert room.peek("planner") == []
