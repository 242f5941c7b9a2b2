"""Mailboxes in an S3 bucket and behind an SSH server: real servers on loopback, a carrier in this process."""

import contextlib
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import paramiko
import pytest

from postroom import Mailbox, label
from postroom.bridges.files import elsewhere, inbox, outbox, remote, tree
from postroom.bridges.files.carrier import Carrier
from postroom.bridges.files.remote import RemoteShelf
from postroom.bridges.files.shelf import Folder
from postroom.bridges.manifest import Manifest
from postroom.errors import BridgeError, InvalidValue, MailboxUnreachable, Refused
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.process import until
from tests.stores import S3, Site, Sshd


@pytest.fixture(params=["s3", "sshd"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> S3 | Sshd:
    found: S3 | Sshd = request.getfixturevalue(request.param)
    found.reach(monkeypatch)
    return found


@pytest.fixture
def site(server: S3 | Sshd, tmp_path: str) -> Site:
    found = server.site(os.path.join(tmp_path, "tree"))
    remote.mark(found.url, b"{}")
    return found


class Post:
    """What a daemon does for the mailboxes of a tree, whenever it is told to."""

    def __init__(self, room: LocalRoom, site: Site, *names: str) -> None:
        self.room, self._site = room, site
        self._depot = remote.connect(site.url)
        self._agents = {name: room.join(name).id for name in names}
        for name in names:
            with contextlib.closing(RemoteShelf(site.url, name)) as shelf:
                shelf.make()

    def carry(self) -> None:
        """By another carrier each time: so it looks at everything, as one does that was just started."""
        for name, agent in self._agents.items():
            carrier = Carrier(self.room, agent, RemoteShelf(self._site.url, name))
            try:
                while carrier.step() == 0.0:
                    pass
            finally:
                carrier.close()


@pytest.fixture
def post(room: LocalRoom, site: Site) -> Post:
    return Post(room, site, "bob")


@pytest.fixture
def bob(post: Post, site: Site) -> Iterator[Mailbox]:
    with Mailbox(site.url, "bob") as mailbox:
        yield mailbox


def letter(**said: Any) -> bytes:
    return json.dumps({"to": "planner", **said}).encode()


# ------------------------------------------------------------------------------------- there and back


def connections() -> list[threading.Thread]:
    """Each connection over SSH has a thread of its own."""
    return [one for one in threading.enumerate() if isinstance(one, paramiko.Transport)]


def test_a_mailbox_that_is_closed_leaves_no_connection_open(
    room: LocalRoom, sshd: Sshd, tmp_path: str, monkeypatch: pytest.MonkeyPatch
):
    sshd.reach(monkeypatch)
    monkeypatch.setattr(elsewhere, "_BEAT", 0.01)
    site = sshd.site(os.path.join(tmp_path, "tree"))
    remote.mark(site.url, b"{}")
    post = Post(room, site, "bob")
    room.send("bob", "hello")
    post.carry()
    until(lambda: not connections())
    with Mailbox(site.url, "bob") as bob:
        assert [one.text for one in bob.receive()] == ["hello"]
        until(lambda: len(connections()) == 3)  # of the shelf, of the holds, and of their pulse
    until(lambda: not connections())


def test_mail_goes_there_and_back_and_each_rung_is_known(room: LocalRoom, post: Post, bob: Mailbox):
    sent = room.send("bob", "are you there?")
    post.carry()
    [asked] = bob.receive()
    assert (asked.text, asked.sender, asked.may_be_repeat) == ("are you there?", "planner", False)
    assert room.receipts(sent.id).deliveries[0].state == "offered"
    assert bob.receive() == []
    post.carry()
    assert room.receipts(sent.id).deliveries[0].state == "seen"
    bob.ack(asked.id)
    id = bob.send("planner", "I am", reply_to=asked.id)
    post.carry()
    assert room.receipts(sent.id).deliveries[0].state == "acked"
    assert bob.wait_for_ack(id, 0) is False
    answer = room.take("planner")
    assert answer is not None
    assert (answer.body, answer.message.verified, answer.message.reply_to) == ("I am", "mailbox", sent.id)
    room.settle(answer)
    post.carry()
    assert bob.wait_for_ack(id, 0) is True


def test_what_an_agent_writes_with_tools_of_its_own_is_taken_in_once(room: LocalRoom, post: Post, site: Site):
    for n in range(3):
        site.put(f"bob/outbox/msg-{n}.json", letter(id=f"msg-{n}", payload={"text": f"letter {n}"}))
    post.carry()
    post.carry()
    assert [mail.body for mail in room.peek("planner")] == ["letter 0", "letter 1", "letter 2"]
    assert {"msg-0.json", "msg-1.json", "msg-2.json"} <= set(site.names("bob/outbox/processed"))


def test_what_is_no_letter_is_set_aside_and_said_and_keeps_no_other(
    room: LocalRoom, post: Post, site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("postroom.bridges.files.outbox._QUIET", 0.0)
    site.put("bob/outbox/a.json", b"{ no json")
    site.put("bob/outbox/b.json", letter(id="forged", **{"from": "planner"}, payload="I am the planner"))
    site.put("bob/outbox/c.json", b"x" * (room.settings.mailbox_file_bytes + 1))
    site.put("bob/outbox/d.json", letter(id="good", payload="all is well"))
    post.carry()
    assert [mail.body for mail in room.peek("planner")] == ["all is well"]
    assert {"a.json", "b.json", "c.json"} <= set(site.names("bob/outbox/rejected"))
    assert json.loads(site.get("bob/receipts/forged.json"))["error"]["code"] == "not_your_name"


def test_a_broken_object_takes_no_letters_receipt_that_has_its_name_as_id(
    room: LocalRoom, post: Post, site: Site, bob: Mailbox, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("postroom.bridges.files.outbox._QUIET", 0.0)
    bob.send("planner", "hello", id="job-1")
    post.carry()
    mail = room.take("planner")
    assert mail is not None
    room.settle(mail)
    site.put("bob/outbox/job-1.json", b"broken")
    post.carry()
    assert "job-1.json" in site.names("bob/outbox/rejected")
    assert json.loads(site.get("bob/receipts/job-1.rejected.json"))["accepted"] is False
    assert bob.wait_for_ack("job-1", 0) is True


def test_a_letter_that_takes_anothers_place_while_that_is_read_is_the_one_that_is_taken_in(
    room: LocalRoom, post: Post, site: Site, monkeypatch: pytest.MonkeyPatch
):
    """Over SFTP one of the same length that came in the same second looks the same."""
    site.put("bob/outbox/next.json", letter(id="job-1", payload="one"))
    swaps = iter([True])

    def swap(step: str) -> None:
        if step == "outbox-read" and next(swaps, False):
            site.put("bob/outbox/next.json", letter(id="job-2", payload="two"))
            if (path := urlsplit(site.url)).scheme == "sftp":
                os.utime(os.path.join(path.path, "bob/outbox/next.json"), (1_000_000_000, 1_000_000_000))

    if (path := urlsplit(site.url)).scheme == "sftp":
        os.utime(os.path.join(path.path, "bob/outbox/next.json"), (1_000_000_000, 1_000_000_000))
    monkeypatch.setattr(outbox, "step", swap)
    post.carry()
    assert [mail.body for mail in room.peek("planner")] == ["two"]
    assert json.loads(site.get("bob/outbox/processed/next.json"))["id"] == "job-2"


def test_whoever_carries_there_looks_again_within_five_seconds_though_nothing_is_to_be_done(
    room: LocalRoom, post: Post, site: Site
):
    with contextlib.closing(Carrier(room, room.who("bob").id, RemoteShelf(site.url, "bob"))) as carrier:
        while (pause := carrier.step()) == 0.0:
            pass
        assert pause is not None
        assert 0.0 < pause <= 5.0


# -------------------------------------------------------------------------------- nothing is lost


@pytest.mark.promise("mailbox-seen")
@pytest.mark.parametrize("is_down", [False, True])
def test_what_lay_in_an_inbox_that_an_older_copy_took_the_place_of_was_not_read(
    room: LocalRoom, post: Post, site: Site, monkeypatch: pytest.MonkeyPatch, is_down: bool
):
    """The copy has its mark, too; only what it says tells it from the one that was put there last."""
    monkeypatch.setattr(inbox, "_SURE", 0.0)
    with contextlib.closing(Carrier(room, room.who("bob").id, RemoteShelf(site.url, "bob"))) as carrier:

        def carry() -> None:
            if is_down:
                post.carry()
            else:
                while carrier.step() == 0.0:
                    pass

        letters = RemoteShelf(site.url, "bob")
        lying = lambda: [name for name in letters.names(Folder.INBOX) if name.endswith(".json")]  # noqa: E731 - short
        carry()
        mark = site.get("bob/inbox/.postroom")
        sent = room.send("bob", "one")
        carry()
        [name] = lying()
        letters.remove(Folder.INBOX, name)
        site.put("bob/inbox/.postroom", mark)
        carry()
        carry()
        assert room.receipts(sent.id).deliveries[0].state == "offered"
        [name] = lying()
        assert json.loads(site.get(f"bob/inbox/{name}"))["mayBeRepeat"]
        letters.remove(Folder.INBOX, name)
        carry()
        assert room.receipts(sent.id).deliveries[0].state == "seen"
        letters.close()


class Killed(BaseException):
    """This process, as far as the test goes."""


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def arm(step: str) -> None:
        def here(name: str) -> None:
            if name == step:
                monkeypatch.setattr(label, "armed", False)
                raise Killed

        monkeypatch.setattr(label, "here", here)
        monkeypatch.setattr(label, "armed", True)

    return arm


@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_who_is_killed_between_copy_and_removal_takes_a_letter_in_once(
    room: LocalRoom, post: Post, site: Site, kill_at: Callable[[str], None]
):
    site.put("bob/outbox/1.json", letter(id="1", payload="once"))
    kill_at("copied")
    with pytest.raises(Killed):
        post.carry()
    assert "1.json" in site.names("bob/outbox")
    post.carry()
    assert [mail.body for mail in room.peek("planner")] == ["once"]
    assert json.loads(site.get("bob/outbox/processed/1.json"))["id"] == "1"


@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_who_is_killed_between_copy_and_removal_has_seen_the_letter_and_gets_it_no_more(
    room: LocalRoom, post: Post, site: Site, kill_at: Callable[[str], None]
):
    sent = room.send("bob", "read me")
    post.carry()
    killed = Mailbox(site.url, "bob")
    assert [one.text for one in killed.receive()] == ["read me"]
    kill_at("copied")
    with pytest.raises(Killed):
        killed.receive()
    killed._end()
    with Mailbox(site.url, "bob") as bob:
        assert bob.receive() == []
    post.carry()
    assert room.receipts(sent.id).deliveries[0].state == "seen"


def test_several_programs_receive_each_letter_once_and_what_one_died_over_again(
    room: LocalRoom, post: Post, site: Site, monkeypatch: pytest.MonkeyPatch
):
    for n in range(4):
        room.send("bob", f"letter {n}")
    post.carry()
    with ExitStack() as stack:
        first, second, third = (stack.enter_context(Mailbox(site.url, "bob")) for _ in range(3))
        assert [one.text for one in first.receive(limit=2)] == ["letter 0", "letter 1"]
        assert [(one.text, one.may_be_repeat) for one in second.receive()] == [
            ("letter 2", False), ("letter 3", False),
        ]  # fmt: skip
        assert third.receive() == []
        monkeypatch.setattr(elsewhere, "_SILENT", 0.0)  # for as long as no holder may be silent
        assert [(one.text, one.may_be_repeat) for one in third.receive()][:2] == [
            ("letter 0", True), ("letter 1", True),
        ]  # fmt: skip


def lies(room: LocalRoom, post: Post, site: Site, *texts: str) -> tuple[Manifest, list[str]]:
    """Such letters lie in bob's inbox, which is served; their ids."""
    manifest, _ = tree.add(room, site.url, "bob", room.scope)
    refs = [room.send("bob", text).id for text in texts]
    post.carry()
    return manifest, refs


def test_letters_of_a_mailbox_that_is_removed_are_taken_back_unless_they_were_read(
    room: LocalRoom, post: Post, site: Site
):
    manifest, refs = lies(room, post, site, "read", "lost", "unread")
    with contextlib.closing(RemoteShelf(site.url, "bob")) as shelf:
        read, lost, _ = (name for name in shelf.names(Folder.INBOX) if name.endswith(".json"))
        shelf.move(Folder.INBOX, read, Folder.READ, read)
        shelf.remove(Folder.INBOX, lost)
        tree.release(room, manifest)
        assert [name for name in shelf.names(Folder.INBOX) if name.endswith(".json")] == []
    found = [room.receipts(ref).deliveries[0] for ref in refs]
    assert [one.state for one in found] == ["seen", "stored", "stored"]
    assert [one.reason for one in found[1:]] == ["uncertain", "offline"]
    assert found[2].shown_before


# ------------------------------------------------------------------------------------ out of reach


def test_of_a_store_that_is_away_when_its_mailbox_is_removed_nobody_can_tell(
    room: LocalRoom, post: Post, site: Site, server: S3 | Sshd
):
    manifest, [ref] = lies(room, post, site, "hello")
    server.stop()
    try:
        tree.release(room, manifest)
    finally:
        server.start()
    delivery = room.receipts(ref).deliveries[0]
    assert (delivery.state, delivery.reason) == ("stored", "uncertain")


def kept(site: Site) -> list[str]:
    """What a room has put there: its notes, and a letter. A bucket's folders are objects of their own."""
    return [name for name in site.names("bob/inbox") + site.names(".postroom") if name != ".keep"]


def test_who_removes_a_mailbox_of_a_store_that_is_away_is_told_what_stays_and_takes_it_away_later(
    room: LocalRoom, post: Post, site: Site, server: S3 | Sshd
):
    _, [ref] = lies(room, post, site, "hello")
    cli = CommandLine(room.home)
    server.stop()
    try:
        told = cli.ok("mailbox", "remove", site.url)
        still = cli.ok("mailbox", "remove", site.url, "--json").json
    finally:
        server.start()
    assert "cannot be reached" in told.err
    assert f"All files stay in {site.url}/bob" in " ".join(told.err.split())
    assert told.err.endswith(f"postroom mailbox remove {site.url}\n")
    assert [(one["place"], "cannot be reached" in one["why"]) for one in still["left"]] == [
        (f"{site.url}/bob", True)
    ]
    assert len(kept(site)) == 3
    assert cli.ok("mailbox", "remove", site.url, "--json").json["left"] == []
    assert kept(site) == []
    assert room.receipts(ref).deliveries[0].state == "stored"
    assert cli("mailbox", "remove", site.url).code == 3


def test_a_store_that_is_away_is_told_as_such_and_mail_goes_on_when_it_is_back(
    room: LocalRoom, post: Post, site: Site, bob: Mailbox, server: S3 | Sshd
):
    sent = room.send("bob", "patience")
    carrier = Carrier(room, room.who("bob").id, RemoteShelf(site.url, "bob"))
    server.stop()
    try:
        carrier.step()
        seen = carrier.observe()
        assert seen.reason == "offline"
        assert "cannot be reached" in seen.words
        with pytest.raises(MailboxUnreachable):
            bob.receive(0.05)
        with pytest.raises(MailboxUnreachable):
            bob.send("planner", "hello?")
    finally:
        server.start()
        carrier.close()
    assert room.receipts(sent.id).deliveries[0].state == "stored"
    post.carry()
    assert [one.text for one in bob.receive()] == ["patience"]


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_a_server_that_ends_leaves_nobody_connected(site: Site, server: Sshd):
    with contextlib.closing(remote.connect(site.url)) as depot:
        depot.names("")
        server.stop()
        try:
            with pytest.raises(MailboxUnreachable):
                depot.names("")
        finally:
            server.start()


@pytest.mark.parametrize("scheme", ["s3", "sftp"])
def test_a_server_that_takes_calls_and_never_answers_is_out_of_reach(
    scheme: str, monkeypatch: pytest.MonkeyPatch, s3: S3
):
    from postroom.bridges.files import objects, sftp

    s3.reach(monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setitem(objects._OPTIONS["s3"]["config_kwargs"], "read_timeout", 0.05)
        monkeypatch.setattr(sftp, "SECONDS", 0.05)
        url = "s3://silent/mail" if scheme == "s3" else f"sftp://127.0.0.1:{port}/mail"
        with pytest.raises(MailboxUnreachable, match="cannot be reached"):
            remote.members(url)


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_drafts_over_sftp_go_once_nobody_has_written_to_them_for_long(post: Post, site: Site, tmp_path: str):
    at = os.path.join(tmp_path, "tree", "bob")
    ours, theirs = ".0123456789abcdef.2-0000000005.json", ".77.0123456789ab"
    folders = ("inbox", "inbox/.held", "outbox/.taking", "receipts")
    old = [f"{folder}/{name}" for folder in folders for name in (ours, theirs)]
    fresh = [f"outbox/{name}" for name in (ours, theirs)]
    others = [f"outbox/{name}" for name in (".notes", ".0123456789abcdef", ".77.json", "1.0123456789ab")]
    for path in (*old, *fresh, *others):
        site.put(f"bob/{path}", b"half")
    for path in (*old, *others):
        os.utime(os.path.join(at, path), (0, 0))
    os.mkdir(os.path.join(at, "outbox", ".78.0123456789ab"))
    post.carry()
    stay = [path for path in (*old, *fresh, *others) if os.path.exists(os.path.join(at, path))]
    assert stay == [*fresh, *others]
    assert [name for name in os.listdir(os.path.join(at, "inbox")) if name.endswith(".now")] == []


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_who_is_killed_while_it_writes_over_sftp_leaves_nothing_for_ever(
    post: Post, site: Site, tmp_path: str, monkeypatch: pytest.MonkeyPatch
):
    inbox = os.path.join(tmp_path, "tree", "bob", "inbox")
    pid = os.fork()
    if pid == 0:
        monkeypatch.setattr(
            paramiko.SFTPClient, "posix_rename", lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        )
        remote.connect(site.url).write("bob/inbox/1.json", b"{}")
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    [draft] = [name for name in os.listdir(inbox) if name.endswith(".1.json")]
    post.carry()
    assert draft in os.listdir(inbox), "its writer may live"
    about = os.stat(inbox)
    os.utime(os.path.join(inbox, draft), (about.st_mtime - 3700, about.st_mtime - 3700))
    post.carry()
    assert draft not in os.listdir(inbox)


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_a_folder_that_has_become_a_link_leads_nowhere(post: Post, site: Site, tmp_path: str):
    elsewhere, folder = os.path.join(tmp_path, "elsewhere"), os.path.join(tmp_path, "tree", "bob", "receipts")
    os.mkdir(elsewhere)
    with open(os.path.join(elsewhere, "mine.json"), "w", encoding="ascii") as file:
        file.write("mine")
    os.rmdir(folder)
    os.symlink(elsewhere, folder)
    with contextlib.closing(RemoteShelf(site.url, "bob")) as shelf:
        for attempt in (
            lambda: shelf.write(Folder.RECEIPTS, "mine.json", b"ours"),
            lambda: shelf.write(Folder.RECEIPTS, "new.json", b"ours"),
            lambda: shelf.read(Folder.RECEIPTS, "mine.json", 100),
            lambda: shelf.move(Folder.RECEIPTS, "mine.json", Folder.INBOX, "mine.json"),
            lambda: shelf.remove(Folder.RECEIPTS, "mine.json"),
        ):
            with pytest.raises(BridgeError, match="is no directory"):
                attempt()
    with open(os.path.join(elsewhere, "mine.json"), encoding="ascii") as file:
        assert file.read() == "mine"
    assert os.listdir(elsewhere) == ["mine.json"]


def test_a_server_that_is_not_there_is_told_in_words(sshd: Sshd, monkeypatch: pytest.MonkeyPatch):
    sshd.reach(monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(
        MailboxUnreachable,
        match=f"127.0.0.1, port {port}, cannot be reached over SFTP: nothing listens there",
    ) as refusal:
        remote.members(f"sftp://ana@127.0.0.1:{port}/mail")
    assert refusal.value.advice == f"Try it: sftp -P {port} ana@127.0.0.1."
    assert refusal.value.hint == f"{refusal.value.advice} {MailboxUnreachable.hint}"


def test_a_tree_that_another_room_serves_is_refused(server: S3 | Sshd, room: LocalRoom, tmp_path: str):
    site = server.site(os.path.join(tmp_path, "anothers"))
    remote.mark(site.url, json.dumps({"served": True, "room": "another"}).encode())
    with pytest.raises(Refused, match="another room serves"):
        tree.add(room, site.url, "bob", room.scope)


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_a_connection_that_was_cut_is_made_anew(post: Post, bob: Mailbox, room: LocalRoom, server: Sshd):
    room.send("bob", "still there?")
    post.carry()
    server.cut()
    assert [one.text for one in bob.receive()] == ["still there?"]


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_a_server_that_nobody_knows_is_not_talked_to(site: Site, server: Sshd, tmp_path: str):
    known = os.path.join(server.home, ".ssh", "known_hosts")
    os.rename(known, f"{known}.away")
    try:
        with pytest.raises(MailboxUnreachable, match=r"it is not in ~/\.ssh/known_hosts"):
            Mailbox(site.url, "bob")
    finally:
        os.rename(f"{known}.away", known)


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_a_server_that_does_not_let_one_in_says_whom_and_what_to_try(site: Site, server: Sshd):
    with pytest.raises(MailboxUnreachable, match="it does not let stranger in with the keys") as refusal:
        remote.members(f"sftp://stranger@127.0.0.1:{server.port}/mail")
    assert f"sftp -P {server.port} stranger@127.0.0.1" in refusal.value.hint


def test_a_tree_that_nobody_serves_is_told_as_such(server: S3 | Sshd, tmp_path: str):
    site = server.site(os.path.join(tmp_path, "unserved"))
    with pytest.raises(BridgeError, match="nobody serves") as refusal:
        Mailbox(site.url, "bob")
    assert refusal.value.hint == f"Where a room is, run: postroom mailbox add {site.url}"


@pytest.mark.parametrize(
    "url",
    [
        "sftp://user:secret@host/mail",
        "ftp://host/mail",
        "s3://",
        "sftp://host",
        "sftp://host:port/mail",
        "s3a://bucket/mail",
        "az://container/mail",
        "://",
    ],
)
def test_an_address_that_cannot_be_kept_or_reached_is_refused(url: str):
    with pytest.raises(InvalidValue) as refusal:
        remote.checked(url)
    assert "secret" not in str(refusal.value)


# ----------------------------------------------------------------------------- large and hostile


@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_what_was_dealt_with_is_never_listed_again_however_much_it_is(
    server: S3, room: LocalRoom, post: Post, site: Site, caplog: pytest.LogCaptureFixture
):
    for folder in ("inbox", "outbox"):
        server.fill(site.url, (f"bob/{folder}/processed/{n}.json" for n in range(10_000)))
    room.send("bob", "one more")
    with caplog.at_level(logging.INFO, logger="werkzeug"):
        post.carry()
    asked = [record.getMessage() for record in caplog.records if "list-type=2" in record.getMessage()]
    assert asked
    assert not [one for one in asked if "processed" in one]
    assert len(asked) < 10
    assert [name for name in site.names("bob/inbox") if name.startswith("2-")]


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_nothing_is_followed_or_opened_that_is_no_plain_file(
    room: LocalRoom, post: Post, site: Site, tmp_path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("postroom.bridges.files.outbox._QUIET", 0.0)
    outbox = os.path.join(tmp_path, "tree", "bob", "outbox")
    secret = os.path.join(tmp_path, "secret.json")
    with open(secret, "wb") as file:
        file.write(letter(id="secret", payload="not bob's"))
    os.symlink(secret, os.path.join(outbox, "link.json"))
    os.mkfifo(os.path.join(outbox, "pipe.json"))
    os.mkdir(os.path.join(outbox, "folder.json"))
    with open(os.path.join(os.fsencode(outbox), b"\xff\xfe.json"), "wb") as file:
        file.write(b"{")
    site.put("bob/outbox/z.json", letter(id="z", payload="good"))
    post.carry()
    assert [mail.body for mail in room.peek("planner")] == ["good"]
    aside = os.listdir(os.path.join(outbox, "rejected"))
    assert {"link.json", "pipe.json", "folder.json", "\udcff\udcfe.json"} <= set(aside)
    assert os.path.exists(secret)


@pytest.mark.parametrize("server", ["sshd"], indirect=True)
def test_an_outbox_that_has_become_a_link_is_not_followed(
    room: LocalRoom, post: Post, site: Site, tmp_path: str
):
    elsewhere = os.path.join(tmp_path, "elsewhere")
    os.mkdir(elsewhere)
    with open(os.path.join(elsewhere, "x.json"), "wb") as file:
        file.write(letter(id="x", payload="another's"))
    outbox = os.path.join(tmp_path, "tree", "bob", "outbox")
    os.rename(outbox, f"{outbox}.old")
    os.symlink(elsewhere, outbox)
    post.carry()
    assert room.peek("planner") == []
    assert os.listdir(elsewhere) == ["x.json"]
