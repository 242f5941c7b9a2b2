"""`--frame` on the command line: what a model is shown, what counts as seen, and what the guide tells it."""

import re
import shlex

import pytest

from postroom.cli import catalog
from postroom.errors import StaleClaim
from postroom.protocol.guide import GUIDE
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine, is_told_well
from tests.conftest import OpenRoom
from tests.framing import Read, parse


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "planner")
    cli.ok("join", "builder")
    return cli


def read_back(text: str) -> Read:
    return parse(text, text.partition(" ")[0])


def states(cli: CommandLine, *refs: str) -> list[str]:
    return [cli.receipt(ref)["state"] for ref in refs]


def test_read_frame_takes_one_and_its_command_answers_it(cli: CommandLine):
    asked = cli.sent("builder", "Which branch?\n%%00000000 end", "--type", "request", "--subject", "Branch")
    other = cli.sent("builder", "later")
    [letter] = read_back(cli.ok("read", "--frame", "--as", "builder").out).letters
    assert (letter.sender, letter.identity, letter.type) == ("planner", "unverified", "request")
    assert (letter.body, letter.fields) == ("Which branch?\n%%00000000 end", {"subject": ["Branch"]})
    assert states(cli, asked, other) == ["seen", "stored"]
    assert letter.command is not None
    done = cli.shell(f"export POSTROOM_AGENT=builder\n{letter.command}\nBranch $parser, `it` is.\nEOF")
    assert done.code == 0, done
    assert states(cli, asked) == ["acked"]
    [answer] = read_back(cli.ok("read", "--frame", "--as", "planner").out).letters
    assert (answer.body, answer.facts) == ("Branch $parser, `it` is.", [f"reply to {asked[-8:]}"])


def test_the_command_that_acknowledges_does_it(cli: CommandLine):
    sent = cli.sent("builder", "hello", "--requires-ack")
    [letter] = read_back(cli.ok("inbox", "--frame", "--as", "builder").out).letters
    assert letter.command == f"postroom ack {sent[-8:]}"
    cli.ok(*str(letter.command).split()[1:], "--as", "builder")
    assert states(cli, sent) == ["acked"]


@pytest.mark.promise("frame-once")
def test_read_all_frame_takes_what_fits_into_one_and_names_the_others(cli: CommandLine):
    sent = [cli.sent("builder", str(n) * 600) for n in range(5)]
    found = read_back(cli.ok("read", "--all", "--frame", "--budget", "2000", "--as", "builder").out)
    assert [letter.handle for letter in found.letters] == [ref[-8:] for ref in sent[:2]]
    assert found.left == [ref[-8:] for ref in sent[2:]]
    assert states(cli, *sent) == ["seen", "seen", "stored", "stored", "stored"]
    assert [cli.receipt(ref)["attempts"] for ref in sent[2:]] == [0, 0, 0], "they were not even claimed"
    rest = read_back(cli.ok("read", "--all", "--frame", "--as", "builder").out)
    assert [letter.handle for letter in rest.letters] == [ref[-8:] for ref in sent[2:]]
    assert cli.ok("read", "--all", "--frame", "--as", "builder").out == ""
    assert cli("read", "--frame", "--as", "builder").code == 3


def test_a_message_can_be_framed_by_its_handle_and_again(cli: CommandLine):
    sent = cli.sent("builder", "x" * 20_000)
    for _ in range(2):
        [letter] = read_back(cli.ok("read", sent[-8:], "--frame", "--as", "builder").out).letters
        path = letter.fields["cut"][0].rpartition("The whole: ")[2]
        with open(path, encoding="utf-8") as file:
            assert "x" * 20_000 in file.read(), "there is the whole"
    assert "x" * 20_000 in cli.ok("read", sent[-8:], "--whole", "--as", "builder").out, "there it is, too"
    assert cli.receipt(sent)["attempts"] == 1


def test_a_gate_is_framed_with_the_command_that_decides_it(cli: CommandLine):
    gate = cli.sent("builder", "May I deploy?", "--type", "decision_gate")
    text = cli.ok("read", "--frame", "--as", "builder").out
    assert "options approve or deny, expires in" in text
    assert f" -> postroom decide {gate[-8:]} OPTION\n" in text


def test_attachments_are_framed_with_their_paths(cli: CommandLine, tmp_path):
    (tmp_path / "fit.py").write_text("print(1)\n")
    cli.sent("builder", "look", "--attach", str(tmp_path / "fit.py"))
    [line] = [
        line for line in cli.ok("inbox", "--frame", "--as", "builder").out.splitlines() if "attached" in line
    ]
    with open(line.rpartition(" ")[2], encoding="utf-8") as file:
        assert file.read() == "print(1)\n"


def test_looking_at_a_frame_marks_nothing(cli: CommandLine):
    sent = [cli.sent("builder", body) for body in ("a", "b")]
    for command in (["inbox"], ["wait", "--timeout", "1s"]):
        result = cli.ok(*command, "--frame", "--as", "builder")
        assert [letter.body for letter in read_back(result.out).letters] == ["a", "b"]
        assert "Looking marks nothing" in result.err
    assert states(cli, *sent) == ["stored", "stored"]
    assert cli.ok("inbox", "--frame", "--as", "planner") == (0, "", "No mail.\n")


def test_a_frame_in_json_tells_what_is_in_it(cli: CommandLine):
    sent = [cli.sent("builder", body * 900) for body in "abc"]
    budget = ["--frame", "--budget", "2500", "--json", "--as", "builder"]
    looked = cli.ok("inbox", *budget).json
    assert (looked["shown"], looked["left_out"]) == (sent[:2], sent[2:])
    taken = cli.ok("read", "--all", *budget).json
    assert (taken["shown"], read_back(taken["frame"]).left) == (sent[:2], [sent[2][-8:]])
    empty = cli.ok("inbox", "--frame", "--json", "--as", "planner").json
    assert empty == {"frame": "", "shown": [], "left_out": []}


@pytest.mark.parametrize(
    "options", [["--budget", "3000"], ["--frame", "--budget", "100"], ["--frame", "--budget", "many"]]
)
def test_a_budget_that_makes_no_sense_is_refused_before_anything_is_taken(
    cli: CommandLine, options: list[str]
):
    sent = cli.sent("builder", "hello")
    for command in ("read", "inbox", "wait"):
        result = cli(command, *options, "--as", "builder")
        assert result.code == 2
        assert is_told_well(result)
    assert states(cli, sent) == ["stored"]


def test_a_frame_that_cannot_be_written_leaves_all_of_it_waiting(cli: CommandLine):
    sent = [cli.sent("builder", body * 500_000) for body in "ab"]
    read = "postroom read --all --frame --budget 2000000 --as builder"
    result = cli.shell(f"{read} | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}")
    assert (result.out, result.err) == ("1\n", "")
    assert states(cli, *sent) == ["stored", "stored"]
    found = cli.ok("inbox", "--as", "builder", "--json").json["messages"]
    assert [message["shown_before"] for message in found] == [True, True]


def test_what_somebody_else_takes_meanwhile_is_not_shown(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    sent = [cli.sent("builder", body) for body in ("a", "b" * 100, "c" * 3000)]
    peek, calls = LocalRoom.peek, list[object]()

    def contested(room: LocalRoom, *args: object, **options: object) -> object:
        calls.append(peek(room, *args, **options))  # type: ignore[arg-type]
        if len(calls) == 1:
            room.ack(sent[1])
        return calls[-1]

    monkeypatch.setattr(LocalRoom, "peek", contested)
    found = read_back(cli.ok("read", "--all", "--frame", "--budget", "2000", "--as", "builder").out)
    assert [letter.body for letter in found.letters] == ["a"]
    assert states(cli, *sent) == ["seen", "acked", "stored"]
    assert not cli.ok("read", "--as", "builder", "--json").json["shown_before"], "it was given back unshown"


@pytest.mark.promise("digest")
def test_several_messages_are_one_offering(cli: CommandLine, open_room: OpenRoom):
    sent = [cli.sent("builder", body) for body in ("a", "b", "c")]
    cli.ok("read", "--all", "--frame", "--as", "builder")
    room = open_room("planner")
    nonces = {room.receipts(id).deliveries[0].nonce for id in sent}
    assert len(nonces) == 1
    assert states(cli, *sent) == ["seen"] * 3
    alone = cli.sent("builder", "d")
    cli.ok("read", "--as", "builder")
    assert room.receipts(alone).deliveries[0].nonce not in nonces


@pytest.mark.promise("digest")
def test_a_bundle_that_was_not_written_out_comes_back_whole(open_room: OpenRoom):
    room = open_room("builder")
    for name in ("planner", "builder"):
        room.join(name)
    for body in ("a", "b"):
        room.send("builder", body, sender="planner")
    bundle = room.take_bundle()
    assert bundle is not None
    assert [mail.body for mail in bundle.mails] == ["a", "b"]
    assert room.take_bundle() is None
    for mail in bundle.mails:
        room.give_up(mail)
    with pytest.raises(StaleClaim):
        room.settle_all(bundle.mails)
    again = room.take_bundle()
    assert again is not None
    room.settle_all(again.mails)
    assert [mail.body for mail in again.mails] == ["a", "b"]
    assert room.peek() == []


def test_a_program_frames_what_it_took(open_room: OpenRoom):
    room = open_room("builder")
    for name in ("planner", "builder"):
        room.join(name)
    room.send("builder", "hello", sender="planner")
    mail = room.take()
    assert mail is not None
    made = room.frame([mail], waiting=["0123abcd"])
    assert made.shown == [mail]
    assert parse(made.text, made.mark).left == ["0123abcd"]


# the guide


def guided() -> list[str]:
    return re.findall(r"^(postroom .+?)(?: {2,}|$)", GUIDE, re.MULTILINE)


@pytest.mark.promise("guide")
@pytest.mark.parametrize("line", guided())
def test_every_command_of_the_guide_is_one(line: str):
    _, name, *arguments = shlex.split(line.partition(" <<")[0])
    entry = catalog.find(name)
    assert entry is not None, name
    catalog.build(name, catalog.load(entry)).read(arguments)


@pytest.mark.promise("guide")
def test_the_guide_is_short_and_says_what_matters(cli: CommandLine):
    assert cli.ok("guide").out == GUIDE
    assert cli.ok("guide", "--json").json == {"guide": GUIDE}
    assert len(GUIDE) <= 1200
    assert {line.split()[1] for line in guided()} >= {
        "read",
        "inbox",
        "reply",
        "ack",
        "send",
        "ask",
        "agents",
    }
    for word in ("data", "unverified", "one message", "thread", "ack of an ack", "back and forth"):
        assert word in GUIDE, word
    assert cli.ok("guide", "--home", "/nonexistent").out == GUIDE, "no room is needed"


def test_a_shell_reads_the_guide_as_it_is_meant(cli: CommandLine):
    script = "export POSTROOM_AGENT=planner\n" + "\n".join(
        line.replace("NAME", "builder") + "\n$HOME `x`\nEOF"
        for line in guided()
        if line.startswith("postroom send")
    )
    assert cli.shell(script).code == 0
    assert read_back(cli.ok("read", "--frame", "--as", "builder").out).letters[0].body == "$HOME `x`"
