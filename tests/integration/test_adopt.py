"""Agents in panes that run already: adopted, reached by mail, let go of, and found again."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.daemon import control, launch
from postroom.errors import Refused
from postroom.room import berth
from postroom.room.berth import occupy
from postroom.room.local import open_room
from postroom.room.seat import Around, Seat
from postroom.room.session import current, end
from tests.commandline import is_told_well
from tests.process import ROOT, eventually
from tests.tui.stage import Pane
from tests.yard import PROFILES, Yard, tutoring


@pytest.fixture
def yard(home: str) -> Iterator[Yard]:
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        yield yard


def tutor(yard: Yard) -> tuple[str, str]:
    """A pane with a program that is no agent of ours; and the file in which it notes what it is asked."""
    command = tutoring(yard)
    pane = yard.stage.run(*command, PYTHONPATH=os.pathsep.join(sys.path))
    eventually(lambda: "ask>" in yard.stage.tmux("capture-pane", "-p", "-t", pane))
    return pane, command[-1]


def in_front(yard: Yard, pane: str) -> str:
    return yard.stage.tmux("display-message", "-p", "-t", pane, "#{pane_current_command}")


def label(pane: Pane) -> str:
    return pane.ask("#{@postroom_agent}")


@pytest.mark.promise("terminal-delivery")
def test_three_panes_are_adopted_at_once_and_each_gets_its_mail_with_a_true_receipt(yard: Yard):
    first, second = yard.stage.agent(name="claude"), yard.stage.agent(name="claude")
    _, record = tutor(yard)
    yard.configure(PROFILES)
    done = yard.ok("adopt", "--all", "--yes", "--json").json["adopted"]
    assert [one["doing"] for one in done] == ["idle"] * 3
    assert [one["title"] for one in done] == ["Claude Code", "Claude Code", "tutor"]
    assert [label(first), label(second)] == [one["agent"] for one in done[:2]]
    refs = [yard.line.sent(one["agent"], f"mail {n}") for n, one in enumerate(done)]
    for ref in refs:
        receipt = yard.seen(ref)
        assert (receipt["route"], receipt["evidence"]) == ("tmux", "terminal")
    assert ["mail 0" in text for text in first.submitted()] == [True]
    assert ["mail 1" in text for text in second.submitted()] == [True]
    with open(record, encoding="utf-8") as file:
        assert ["mail 2" in line for line in file] == [True]


def test_without_a_word_what_there_is_gets_listed_and_nothing_is_adopted(yard: Yard):
    yard.stage.agent(name="claude")
    one = yard.ok("adopt")
    assert one.err == "Adopt all: postroom adopt --all; or one: postroom adopt %0 --as NAME\n"
    assert manifests.every(yard.home) == []
    yard.stage.agent(name="codex")
    assert [line.split()[:4] for line in yard.ok("adopt").out.splitlines()[1:]] == [
        ["%0", "stage:0.0", "claude", "claude"],
        ["%1", "stage:1.0", "codex", "codex"],
    ]
    assert manifests.every(yard.home) == []


def test_a_name_alone_is_for_the_only_candidate_and_of_several_for_none(yard: Yard):
    yard.stage.agent(name="claude")
    adopted = yard.ok("adopt", "--as", "one")
    assert "Claude Code (tmux stage:0.0), idle; mail is typed" in adopted.out
    told = "Adopted. Write to it: postroom send p/one TEXT. Let go of it: postroom adopt --release p/one\n"
    assert adopted.err == f"the daemon was started\n{told}"
    assert yard.manifest("one").pane.startswith("%0@")
    yard.stage.agent(name="codex")
    several = yard("adopt", "--as", "two")
    assert several.code == 2
    assert several.err == "Name the pane: postroom adopt %1 --as two\n"
    assert len(manifests.every(yard.home)) == 1


def test_a_window_may_be_meant_by_its_name(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.stage.tmux("rename-window", "-t", pane.id, "re")
    [one] = yard.ok("adopt", "stage:re.0", "--as", "backend", "--json").json["adopted"]
    assert one["pane"] == pane.id
    assert "stage:0.0: let go" in yard.ok("adopt", "--release", "stage:re").out


def test_a_pane_with_a_draft_is_adopted_and_its_mail_waits(yard: Yard):
    pane = yard.stage.agent(name="claude")
    pane.type("half a sentence")
    pane.shows("half a sentence")
    assert "idle, with a draft; its mail waits\n" in yard.ok("adopt", pane.id, "--as", "backend").out


def test_a_person_is_neither_adopted_nor_started_nor_interrupted(yard: Yard):
    pane = yard.stage.agent(name="claude")
    for words in (
        ["adopt", pane.id, "--as", "human:boss"],
        ["spawn", "human:boss", "--", "claude"],
        ["interrupt", "human:boss"],
    ):
        refused = yard(*words)
        assert (refused.code, is_told_well(refused)) == (2, True), refused
        assert "human:boss is a person, and no agent\n  Agents have names like boss\n" in refused.err
    assert (manifests.every(yard.home), label(pane)) == ([], "")


@pytest.mark.promise("adoption")
def test_adopting_again_changes_nothing_and_says_so(yard: Yard):
    pane = yard.stage.agent(name="claude")
    [first] = yard.ok("adopt", pane.id, "--as", "backend", "--json").json["adopted"]
    before = yard.manifest("backend")
    [again] = yard.ok("adopt", "--all", "--json").json["adopted"]
    assert (first["new"], again["new"], again["agent"]) == (True, False, "p/backend")
    assert yard.manifest("backend") == before
    assert "(adopted before)" in yard.ok("adopt", "stage:0.0").out
    with open_room(yard.home, project="p") as room:
        agent = room.known("backend")
        assert [session.epoch for session in room.store.look().sessions(agent.id)] == [0]


def conversation(yard: Yard, runtime: str, host_pid: int, pane: Pane) -> None:
    """A conversation of `backend` that hooks have reported: a process hosts it, and a pane shows it."""
    clients = (host.identity_of(pane.pid),) if host_pid != pane.pid else ()
    around = Around(name="backend", pane=pane.target, served=bool(clients), clients=clients)
    where = pane.ask("#{pane_current_path}")
    with open_room(yard.home, project="p") as room, room.write() as tx:
        seat = Seat(runtime, "t1", "", "", host.identity_of(host_pid), where, {}, around)
        current(room, tx, seat, anew=True)


def end_of_conversation(yard: Yard, runtime: str) -> None:
    with open_room(yard.home, project="p") as room, room.write() as tx:
        known = tx.session(f"{runtime}:t1:main")
        assert known is not None
        end(room, tx, known)


@pytest.fixture
def server() -> Iterator[int]:
    """A process that hosts conversations, and is above nothing that the test runs."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


@pytest.mark.promise("adoption")
@pytest.mark.parametrize("hooks", ["silent", "running", "ended"])
def test_adopting_all_again_never_moves_the_address_of_a_live_pane(yard: Yard, server: int, hooks: str):
    """A second Codex is started in the same project, and `adopt --all` runs once more."""
    first = yard.stage.agent(name="codex")
    if hooks != "silent":
        conversation(yard, "codex", server, first)
    name = () if hooks == "running" else ("--as", "backend")
    [one] = yard.ok("adopt", first.id, *name, "--json").json["adopted"]
    assert one["agent"] == "p/backend"
    if hooks == "ended":
        end_of_conversation(yard, "codex")
    second = yard.stage.agent(name="codex")
    adopted = yard.ok("adopt", "--all", "--json").json["adopted"]
    assert [(each["pane"], each["new"]) for each in adopted] == [(first.id, False), (second.id, True)]
    assert adopted[0]["agent"] == "p/backend" != adopted[1]["agent"]
    assert (label(first), yard.manifest("backend").pane) == ("p/backend", first.target)


@pytest.mark.promise("adoption")
def test_a_second_agent_in_the_same_checkout_gets_no_mail_of_the_adopted_one(yard: Yard):
    """The hooks of the first one have reported its end; its pane is still there."""
    first = yard.stage.agent(name="claude")
    conversation(yard, "claude", first.pid, first)
    yard.ok("adopt", first.id)
    end_of_conversation(yard, "claude")
    second = yard.stage.agent(name="claude")
    yard.ok("adopt", "--all")
    yard.seen(yard.line.sent("backend", "for the first pane"))
    assert ["for the first pane" in text for text in first.submitted()] == [True]
    assert second.submitted() == []


def test_a_name_whose_pane_is_still_there_is_refused_to_another(yard: Yard, server: int):
    first, second = yard.stage.agent(name="claude"), yard.stage.agent(name="claude")
    yard.ok("adopt", first.id, "--as", "backend")
    with open_room(yard.home, project="p") as room:
        berth.vacate(room, room.known("backend"))  # as after a crash: the manifest alone knows of the pane
    refused = yard("adopt", second.id, "--as", "backend")
    assert (refused.code, is_told_well(refused), "in pane %0" in refused.err) == (5, True, True), refused
    assert yard.manifest("backend").pane == first.target


def test_a_dry_run_says_what_would_be_adopted_and_touches_nothing(yard: Yard):
    pane = yard.stage.agent(name="claude")
    [one] = yard.ok("adopt", "--dry-run", "--match", "stage", "--json").json["candidates"]
    assert (one["pane"], one["runtime"], one["adoptable"]) == (pane.id, "claude", True)
    assert label(pane) == ""
    assert manifests.every(yard.home) == []


@pytest.mark.promise("adoption")
def test_a_pane_that_bears_a_name_is_that_agent_and_no_other(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    refused = yard("adopt", pane.id, "--as", "frontend")
    assert refused.code == 5
    assert is_told_well(refused)
    assert "is p/backend's" in refused.err
    other = yard.stage.agent(name="claude")
    taken = yard("adopt", other.id, "--as", "backend", "--json")
    assert (taken.code, taken.error["error"]) == (5, "already_running")
    assert "in pane %0" in taken.error["message"]


def claiming(yard: Yard, name: str) -> Pane:
    """A pane whose program has given it a name itself."""
    pane = yard.stage.agent(name="claude")
    yard.stage.tmux("set-option", "-p", "-t", pane.id, "@postroom_agent", name)
    return pane


@pytest.mark.promise("claimed-name")
@pytest.mark.parametrize("name", ["human:ana", "@builders", "postroom", "x\ty\nz", "no/such/thing", "p/x y"])
def test_a_pane_that_bears_no_agents_name_is_skipped_and_the_others_are_adopted(yard: Yard, name: str):
    yard.line.ok("join", "human:ana")
    bad, good = claiming(yard, name), yard.stage.agent(name="claude")
    result = yard("adopt", "--all", "--json")
    assert result.code == 1
    assert [(one["pane"], "error" in one) for one in result.json["adopted"]] == [
        (bad.id, True),
        (good.id, False),
    ]
    [kept] = manifests.every(yard.home)
    assert kept.pane == good.target
    refused = yard("adopt", bad.id)
    assert (refused.code, is_told_well(refused)) == (2, True), refused
    yard.ok("adopt", bad.id, "--as", "backend")
    assert label(bad) == "p/backend"


@pytest.mark.promise("claimed-name")
def test_nobody_in_a_pane_is_a_person_whoever_says_so(yard: Yard):
    pane = yard.stage.agent(name="claude")
    refused = yard("adopt", pane.id, "--as", "human:ana")
    assert (refused.code, is_told_well(refused)) == (2, True), refused
    assert manifests.every(yard.home) == []


@pytest.mark.promise("claimed-name")
@pytest.mark.parametrize("how", ["mail", "place"])
def test_a_pane_that_says_it_is_another_agent_gets_its_mail_only_on_a_persons_word(yard: Yard, how: str):
    yard.line.ok("join", "backend")
    if how == "mail":
        yard.line.sent("backend", "for the true one")
    else:
        first, _ = yard.stage.agent(name="claude"), yard.stage.run("cat")
        yard.ok("adopt", first.id, "--as", "backend")
        yard.stage.tmux("kill-pane", "-t", first.id)
        eventually(lambda: manifests.every(yard.home) == [])
        yard.line.sent("backend", "for the true one")
    pane, other = claiming(yard, "p/backend"), claiming(yard, "newcomer")
    result = yard("adopt", "--all", "--json")
    assert result.code == 1
    [claim, adopted] = result.json["adopted"]
    assert (claim["pane"], adopted["pane"], adopted["agent"]) == (pane.id, other.id, "p/newcomer")
    assert f"postroom adopt {pane.id} --as p/backend" in claim["hint"]
    assert "says that it is p/backend" in claim["error"]
    listed = yard.ok("adopt", "--match", ".", "--dry-run", "--json").json["candidates"]
    assert [(one["name"], one["claim"], one["adoptable"]) for one in listed] == [
        (None, "p/backend", False),
        ("p/newcomer", None, True),
    ]
    assert "only says that it is; needs --as NAME" in yard.ok("adopt", "--match", ".", "--dry-run").out
    assert pane.submitted() == []
    yard.ok("adopt", pane.id, "--as", "backend")
    pane.until("submitted")
    assert ["for the true one" in text for text in pane.submitted()] == [True]


@pytest.mark.promise("claimed-name")
def test_an_adopted_pane_that_calls_itself_otherwise_stays_who_it_is(yard: Yard):
    yard.line.sent("planner", "for the planner")
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    yard.stage.tmux("set-option", "-p", "-t", pane.id, "@postroom_agent", "p/planner")
    [again] = yard.ok("adopt", "--all", "--json").json["adopted"]
    assert (again["agent"], label(pane), pane.submitted()) == ("p/backend", "p/backend", [])


def test_a_pane_that_was_let_go_and_named_again_is_who_was_there_last(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    yard.ok("adopt", "--release", pane.id)
    yard.stage.tmux("set-option", "-p", "-t", pane.id, "@postroom_agent", "backend")
    assert "p/backend: Claude Code" in yard.ok("adopt", "--all").out


def test_of_two_panes_with_one_name_neither_is_meant_by_it(yard: Yard):
    pane, other = yard.stage.agent(name="claude"), claiming(yard, "p/backend")
    yard.ok("adopt", pane.id, "--as", "backend")
    refused = yard("adopt", "backend", "--as", "frontend")
    assert (refused.code, is_told_well(refused)) == (5, True)
    assert f"{other.id} (stage:1.0)" in refused.err
    assert "stage:0.0: let go" in yard.ok("adopt", "--release", "backend").out


def test_a_pane_that_bears_the_id_of_another_is_not_meant_by_it(yard: Yard):
    claiming(yard, "%1")
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    assert (pane.id, yard.manifest("backend").pane) == ("%1", pane.target)


@pytest.mark.promise("terminal-delivery")
def test_without_a_locale_agents_are_adopted_and_get_their_mail(yard: Yard):
    pane = yard.stage.agent(name="claude")
    [one] = yard.ok("adopt", "--all", "--json", env={"LC_ALL": "C", "LANG": "C"}).json["adopted"]
    yard.seen(yard.line.sent(one["agent"], "größer"))
    assert ["größer" in text for text in pane.submitted()] == [True]


def test_a_pane_of_another_server_is_neither_shown_nor_ended(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    kept = yard.manifest("backend")
    yard.kill_daemon()
    yard.stage.end()
    stranger = yard.stage.agent(name="claude")
    assert (stranger.id, stranger.target == kept.pane) == (pane.id, False)
    shown = yard("attach", "backend", "--print")
    assert (shown.code, is_told_well(shown)) == (3, True), shown
    assert "has ended" in shown.err
    assert "stage:" not in yard.ok("agents").out
    yard("stop", "backend", "--kill")
    assert (stranger.ask("#{pane_dead}"), stranger.log("read")) == ("0", [])


@pytest.mark.promise("adoption")
def test_released_it_runs_on_under_no_name_and_nothing_is_typed(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    assert "runs on" in yard.ok("adopt", "--release", "backend").out
    assert (label(pane), manifests.every(yard.home)) == ("", [])
    assert yard.ok("adopt", "--release", "backend", "--json").json == {"released": []}
    assert yard.ok("adopt", "--release", pane.id).out == "stage:0.0: nobody held it\n"
    assert "let go: nothing types there" in yard.ok("agents").out
    answer = yard.ok("send", "backend", "hello", "--as", "planner")
    assert "let go: nothing types there" in answer.out
    yard.ok("adopt", pane.id, "--as", "backend")
    pane.until("submitted")
    assert ["hello" in text for text in pane.submitted()] == [True]


def test_an_agent_is_let_go_of_when_its_tmux_server_has_ended(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    yard.ok("down")
    yard.stage.tmux("kill-server")
    eventually(lambda: host.is_gone(yard.manifest("backend").process))
    gone = yard("screen", "backend")
    assert (gone.code, is_told_well(gone), "postroom agents" in gone.err) == (3, True, True), gone
    assert yard.ok("adopt", "--release", "backend").out == "stage:0.0: let go; nothing ran there any more\n"
    assert manifests.every(yard.home) == []
    assert yard("adopt", "--release", "nobody").code == 1


def test_stop_lets_go_of_an_adopted_agent_and_ends_it_only_when_told_to(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    assert "let go; it runs on" in yard.ok("stop", "backend").out
    assert pane.ask("#{pane_dead}") == "0"
    assert "let go: nothing types there" in yard.ok("agents").out
    assert yard("stop", "backend").code == 3
    yard.ok("adopt", pane.id, "--as", "backend")
    process = yard.manifest("backend").process
    stopped = yard.ok("stop", "backend", "--kill", "--json").json
    assert stopped["ended"] is True
    assert host.is_gone(process)


@pytest.mark.promise("launch-blocked")
def test_a_dialog_before_the_start_is_reported_and_never_answered(yard: Yard):
    pane = yard.stage.agent(name="claude")
    pane.control("say", "Yes, I trust this folder")
    [one] = yard.ok("adopt", "--as", "backend", "--json").json["adopted"]
    assert (one["reason"], one["next"]) == ("launch_blocked:trust", "postroom attach p/backend")
    yard.line.sent("backend", "hello")
    answer = yard.ok("send", "backend", "again", "--as", "planner")
    assert "launch_blocked:trust in Claude Code (tmux)" in answer.out
    assert pane.log("read") == []


def test_an_unknown_screen_is_said_and_not_typed_into(yard: Yard):
    pane = yard.stage.agent(name="claude")
    pane.control("strange")
    adopted = yard.ok("adopt", "--as", "backend")
    assert "on a screen that is not known; its mail waits: postroom doctor capture p/backend" in adopted.out


def test_a_program_that_is_not_known_needs_a_profile_which_may_be_given_by_hand(yard: Yard):
    pane, record = tutor(yard)
    refused = yard("adopt", pane)
    assert refused.code == 1
    assert "--runtime" in refused.err
    assert is_told_well(refused)
    yard.ok("adopt", pane, "--as", "tutor", "--pattern", "ask> ")
    yard.seen(yard.line.sent("tutor", "what is it?"))
    with open(record, encoding="utf-8") as file:
        assert "what is it?" in file.read()


@pytest.mark.promise("consent")
def test_a_profile_of_a_config_in_the_room_is_used_only_once_it_was_agreed_to(yard: Yard):
    pane, _ = tutor(yard)
    yard.configure(PROFILES)
    refused = yard("adopt", pane, "--as", "tutor")
    assert refused.code == 5
    assert '[profiles.tutor] prompt = "ask> "' in refused.err
    yard.ok("adopt", pane, "--as", "tutor", "--yes")
    yard.ok("adopt", "--release", "tutor")
    yard.ok("adopt", pane, "--as", "tutor")
    yard.ok("adopt", "--release", "tutor")
    yard.configure(PROFILES + 'submit = "C-m"\n')
    assert yard("adopt", pane, "--as", "tutor").code == 5


def test_the_pane_of_whoever_calls_is_not_adopted_with_the_others(yard: Yard):
    own = yard.stage.agent(name="claude")
    other = yard.stage.agent(name="claude")
    done = yard.ok("adopt", "--all", "--json", env={"TMUX_PANE": own.id}).json["adopted"]
    assert [one["pane"] for one in done] == [other.id]


def test_an_agent_that_is_started_again_in_its_pane_is_reached_again(yard: Yard):
    command = " ".join(tutoring(yard))
    pane = yard.stage.run("sh", PYTHONPATH=os.pathsep.join(sys.path))
    yard.stage.tmux("send-keys", "-t", pane, command, "Enter")
    eventually(lambda: in_front(yard, pane) == "tutor")
    yard.ok("adopt", pane, "--as", "tutor", "--pattern", "ask> ")
    was = yard.manifest("tutor")
    yard.stage.tmux("send-keys", "-t", pane, "C-d")
    eventually(lambda: in_front(yard, pane) == "sh")
    ref = yard.line.sent("tutor", "are you there?")
    yard.stage.tmux("send-keys", "-t", pane, command, "Enter")
    yard.seen(ref)
    now = yard.manifest("tutor")
    assert now.process != was.process
    assert now._replace(process=was.process) == was


def test_a_pane_that_is_closed_is_forgotten(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", "--as", "backend")
    yard.stage.tmux("kill-pane", "-t", pane.id)
    eventually(lambda: manifests.every(yard.home) == [])
    assert "not running" in yard.ok("agents").out


def test_agents_tells_what_each_does_and_where_and_send_says_the_same(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", "--as", "backend")
    assert "idle in Claude Code (tmux stage:0.0), typed" in yard.ok("agents").out
    pane.control("busy")
    assert "at work in Claude Code (tmux stage:0.0): typed when it is idle" in yard.ok("agents").out
    assert "at work in Claude Code (tmux): typed" in yard.ok("send", "backend", "hi", "--as", "planner").out
    [session] = next(
        one["sessions"] for one in yard.ok("agents", "--json").json["agents"] if one["name"] == "backend"
    )
    assert "its screen says so" in session["because"]
    assert (session["runtime"], session["bridge"]) == ("claude", "tmux")
    pane.control("done")
    yard.kill_daemon()
    assert "; nothing types there: postroom up" in yard.ok("agents").out
    assert "nothing types there: postroom up" in yard.ok("send", "backend", "ho", "--as", "planner").out
    assert "no daemon runs" in yard.ok("status").out


@pytest.mark.promise("one-daemon")
def test_a_daemon_that_was_killed_and_started_again_goes_on(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", "--as", "backend")
    yard.kill_daemon()
    ref = yard.line.sent("backend", "hello")
    assert yard.line.receipt(ref)["state"] == "stored"
    assert "the daemon is up" in yard.ok("up").out
    yard.seen(ref)
    assert ["hello" in text for text in pane.submitted()] == [True]
    assert "keeps 1 agent" in yard.ok("status").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["%99"], "there is no pane '%99'"),
        (["--all", "%0"], "name panes, or say --all"),
        (["%0", "--submit", "Enter"], "--submit goes with --pattern"),
        (["--match", "("], "no regular expression"),
        (["--match", "zzz"], "no pane matches 'zzz'"),
        (["%0", "--runtime", "clod"], "there is no runtime"),
        (["%0", "--profile", "none"], "there is no profile"),
        (["%0", "--pattern", "("], "--pattern is no regular expression"),
        (["%0", "--pattern", "RE"], "RE stands for a pattern"),
        (["--release"], "--release needs PANE"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(yard: Yard, words: list[str], says: str):
    yard.stage.agent(name="claude")
    refused = yard("adopt", *words)
    assert refused.code == (3 if "there is no pane" in says or "no pane matches" in says else 2)
    assert is_told_well(refused)
    assert says in refused.err
    assert "in the config" not in refused.err or "--profile" in words


def test_an_agent_whose_hooks_have_told_of_it_keeps_its_name_and_is_only_woken(yard: Yard):
    pane = yard.stage.agent(name="claude")
    with open_room(yard.home, project="p") as room, room.write() as tx:
        around = Around(name="backend", pane=pane.target)
        seat = Seat("claude", "s1", "", "", host.identity_of(pane.pid), ROOT, {"key": "k1"}, around)
        current(room, tx, seat, anew=True)
    refused = yard("adopt", pane.id, "--as", "frontend")
    assert (refused.code, "is p/backend's" in refused.err) == (5, True)
    assert (
        "p/backend: Claude Code (tmux stage:0.0), idle; its hooks carry mail" in yard.ok("adopt", "--all").out
    )
    assert "in Claude Code (tmux stage:0.0), woken" in yard.ok("agents").out
    yard("interrupt", "backend", "--kind", "pause", "--as", "human:ana")
    shown = yard.ok("agents").out
    assert "in Claude Code (tmux stage:0.0); paused: postroom resume backend" in shown
    assert "woken" not in shown


def test_what_the_config_says_of_a_runtime_names_a_pane_that_bears_no_name(yard: Yard):
    yard.configure('[agents.backend]\nruntime = "claude"\n')
    yard.stage.agent(name="claude")
    assert "p/backend: Claude Code" in yard.ok("adopt", "--all").out


def test_an_agent_may_not_start_or_stop_others(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", "--as", "backend")
    with open_room(yard.home, project="p") as room:
        occupy(room, room.join("caller"), "tmux", host.identity())
        process = room.store.look().sessions(room.known("caller").id)[0].process
    assert process == host.identity()  # what is called here is called by that agent
    for words in (["stop", "backend"], ["spawn", "other", "--", "claude"]):
        refused = yard(*words)
        assert (refused.code, is_told_well(refused)) == (5, True), refused
        assert "only a person may" in refused.err
    assert label(pane) == "p/backend"


# shells


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("words", [["bash", "--norc", "-i"], ["sh"], ["dash", "-i"]])
def test_a_shell_is_not_adopted_whatever_is_said_of_its_prompt(yard: Yard, words: list[str]):
    pane = yard.stage.run("env", "PS1=$ ", *words)
    eventually(lambda: "$" in yard.stage.tmux("capture-pane", "-p", "-t", pane))
    for said in (["--pattern", r"^\S*\$ "], ["--runtime", "claude"]):
        refused = yard("adopt", pane, "--as", "backend", *said)
        assert (refused.code, is_told_well(refused)) == (5, True), refused
        assert "has a shell in front" in refused.err
    assert manifests.every(yard.home) == []
    assert "a shell: nothing is typed there" in yard.ok("adopt", "--dry-run", pane).out


def test_no_profile_is_for_a_shell(yard: Yard):
    yard.configure('[profiles.mine]\nprompt = "\\\\$ "\nprograms = ["/bin/bash"]\n')
    pane = yard.stage.run("bash", "--norc")
    refused = yard("adopt", pane, "--profile", "mine", "--yes")
    assert (refused.code, is_told_well(refused)) == (2, True), refused
    assert "names a shell, /bin/bash" in refused.err
    yard.configure('[agents.backend]\npane = "stage:0.0"\nprofile = "p"\n[profiles.p]\nprompt = "\\\\$ "\n')
    assert "there is no pane 'stage:0.0' with a program" in yard("up", "--yes").out


def test_a_program_that_has_become_a_shell_since_gets_no_mail(yard: Yard):
    script = os.path.join(yard.stage.root, "turns")
    with open(script, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nprintf "ask> "\nread _\nPS1="ask> " exec bash --norc -i\n')
    os.chmod(script, 0o700)
    pane = yard.stage.run(script)
    eventually(lambda: "ask>" in yard.stage.tmux("capture-pane", "-p", "-t", pane))
    yard.ok("adopt", pane, "--as", "backend", "--pattern", "ask> ")
    yard.stage.tmux("send-keys", "-t", pane, "Enter")
    eventually(lambda: in_front(yard, pane) == "bash")
    ref = yard.line.sent("backend", f"x; touch {yard.stage.root}/ran")
    eventually(lambda: yard.line.receipt(ref)["reason"] == "background")
    assert "touch" not in yard.stage.tmux("capture-pane", "-p", "-t", pane)


# let go of


def test_a_release_that_is_refused_leaves_all_as_it_was(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", "--as", "backend")
    with pytest.MonkeyPatch.context() as patch, open_room(yard.home, project="p") as room:
        patch.setattr(control, "ask", _refuses)
        with pytest.raises(Refused):
            launch.let_go(room, yard.manifest("backend"))
    assert yard.manifest("backend").pane == pane.target
    assert label(pane) == "p/backend"
    yard.seen(yard.line.sent("backend", "hello"))


def _refuses(*_: object, **__: object) -> None:
    raise Refused("no")


def test_what_is_to_be_said_next_names_the_same_server_of_tmux(yard: Yard):
    pane, _ = tutor(yard)
    socket = yard.stage.socket
    told = yard.ok("adopt", "--socket", socket).err
    assert f"postroom adopt {pane} --pattern RE --socket {socket}" in told
    refused = yard("adopt", "--socket", "/nowhere/tmux socket")
    assert refused.code == 1
    assert "tmux -S '/nowhere/tmux socket' ls" in refused.err


def test_a_pattern_that_does_not_fit_the_screen_may_be_given_anew(yard: Yard):
    pane, _ = tutor(yard)
    first = yard.ok("adopt", pane, "--as", "tutor", "--pattern", "never> ")
    assert f"its mail waits: postroom adopt {pane} --pattern RE" in first.out
    again = yard.ok("adopt", pane, "--as", "tutor", "--pattern", "ask> ")
    assert "idle; mail is typed" in again.out


@pytest.mark.parametrize(("pattern", "hint"), [("(", "postroom screen PANE"), ("x*", "--pattern 'ask> '")])
def test_a_pattern_that_cannot_be_used_says_what_one_is(yard: Yard, pattern: str, hint: str):
    refused = yard("adopt", "%0", "--pattern", pattern)
    assert (refused.code, hint in refused.err) == (2, True)


def test_a_wrong_key_of_a_profile_is_named_with_the_one_that_was_meant(yard: Yard):
    yard.configure('[profiles.tutor]\npromt = "ask> "\n')
    refused = yard("adopt", "%0", "--profile", "tutor")
    assert refused.code == 2
    assert "profiles.tutor.promt is not known" in refused.err
    assert (
        "Did you mean prompt or programs? Mend [profiles.tutor] in the config; postroom status" in refused.err
    )
    refused = yard("adopt", "%0", "--profile", "tuto")
    assert "Did you mean tutor?" in refused.err
