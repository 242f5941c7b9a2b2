"""The tutorial of three agents, as somebody takes it: what it says to type is typed, at a terminal.

The handles of the page are those of another room. What is printed here tells which of ours they stand for.
"""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from postroom import host
from tests.commandline import CommandLine
from tests.process import BOUND, ROOT, until

PAGE = Path(ROOT, "docs", "tutorial", "three-ways.md")
SHELL_AGENT = Path(ROOT, "docs", "howto", "files.md")
ANA = "human:ana"
# What the models do when they are shown mail, whoever plays them: a command, with its handle.
PLANNER = """\
echo "$1" >>heard
case $(wc -l <heard) in
1) postroom send builder "Please build the parser." --type request --thread "$1" ;;
2) postroom send reviewer "builder has the parser. What is missing?" --type request --thread "$1" ;;
3) postroom reply "$(head -n 1 heard)" "builder has it. A test for the empty file is missing." ;;
esac
"""
REVIEWER = "postroom reply %handle% 'A test for the empty file.'"
HANDLE = re.compile(r"\b[0-9a-f]{8}\b(?!-)")
VARIES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d\d:\d\d:\d\d|process \d+|after .*|\d+ min")
EVIDENCE = {"builder": {"agent"}, "planner": {"transcript", "boundary"}, "reviewer": {"runtime_ack", "agent"}}


class Said(NamedTuple):
    """A message of the thread."""

    sender: str
    to: str
    body: str


CONVERSATION = [
    Said(
        ANA, "planner",
        "Have builder build the parser, then ask reviewer what is missing. Use --thread, and tell me.",
    ),
    Said("planner", "builder", "Please build the parser."),
    Said("builder", "planner", "I have it."),
    Said("planner", "reviewer", "builder has the parser. What is missing?"),
    Said("reviewer", "planner", "A test for the empty file."),
    Said("planner", ANA, "builder has it. A test for the empty file is missing."),
    Said(ANA, "@all", "Then add that test, and we ship on Friday."),
    Said("builder", ANA, "I have it."),
]  # fmt: skip


class Walk:
    """A person in a project, with the page beside the shell."""

    def __init__(self, project: str, env: dict[str, str], prefix: Sequence[str] = ()) -> None:
        self.project, self._env, self._prefix = project, env, prefix
        self.home = os.path.join(env["HOME"], ".local", "share", "postroom")
        self._cli = CommandLine(self.home)
        self._page = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        self._typed = [False] * len(self._page)
        self._ours: dict[str, str] = {}  # by the handles of the page
        found = re.search(r"^#!/bin/sh.*?^done$", SHELL_AGENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        assert found is not None
        Path(project, "agent.sh").write_text(found[0], encoding="utf-8")
        Path(project, "planner.sh").write_text(PLANNER, encoding="utf-8")

    def block(self, beginning: str) -> tuple[str, str]:
        """The one that begins so, and what the page shows that it prints."""
        [at] = [n for n, (kind, text) in enumerate(self._page) if kind == "sh" and text.startswith(beginning)]
        self._typed[at] = True
        kind, shown = self._page[at + 1] if at + 1 < len(self._page) else ("sh", "")
        block = HANDLE.sub(lambda match: self._ours.get(match[0], match[0]), self._page[at][1])
        return block, "" if kind else shown

    @property
    def left(self) -> list[str]:
        """What the page says to type, and was not."""
        return [
            block for (kind, block), typed in zip(self._page, self._typed, strict=True)
            if kind == "sh" and not typed
        ]  # fmt: skip

    def type(self, beginning: str) -> None:
        """Type a block. What it prints is what the page shows, where it shows that."""
        block, shown = self.block(beginning)
        printed = self.run("bash", "-ec", block)
        if shown:
            assert _even(printed) == _even(shown), printed
            self._ours |= dict(zip(HANDLE.findall(shown), HANDLE.findall(printed), strict=True))

    def run(self, *words: str) -> str:
        """Run a command as a person does who sits at a terminal."""
        ours, theirs = os.openpty()
        try:
            done = subprocess.run(
                [*self._prefix, "setsid", "--ctty", "--wait", *words], cwd=self.project, env=self._env,
                stdin=theirs, capture_output=True, text=True, timeout=2 * BOUND, check=False,
            )  # fmt: skip
        finally:
            os.close(ours)
            os.close(theirs)
        assert done.returncode == 0, done
        return done.stdout

    def ask(self, *words: str) -> Any:
        """What a command says as a document."""
        return self._cli.ok(*words, "--json", env={"POSTROOM_PROJECT": "shop"}).json

    @contextmanager
    def beside(self, beginning: str) -> Iterator[int]:
        """What a block leaves running, until the `with` block ends; the process above it."""
        block, _ = self.block(beginning)
        process = subprocess.Popen(
            [*self._prefix, "bash", "-c", f"{block}\nwait"], cwd=self.project, env=self._env,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(BOUND)

    # the conversation

    def talk(self, rest: Callable[[], None] = lambda: None) -> None:
        """From the first message to the last receipt; `rest`: what lets the reviewer answer no more."""
        self.wait_idle()
        self.type("postroom send planner")
        self.wait(lambda: self.ask("gates")["gates"])
        self.type("postroom gates")
        self.type("postroom decide")
        self.wait(lambda: self.ask("inbox", "--as", ANA)["messages"])
        self.type("postroom read")
        self.type("postroom thread")
        rest()
        self.wait_idle()
        self.type("postroom send @all")
        self.wait(lambda: len(self.said()) == len(CONVERSATION) and not self.unproven())
        self.type("postroom receipts")

    def wait(self, condition: Callable[[], object]) -> None:
        """Wait until it is so; if it never is, with the log of the room."""
        try:
            until(condition, 2 * BOUND)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.run('postroom', 'log')}") from None

    def wait_idle(self) -> None:
        """Wait until the two that have turns have none."""
        self.wait(lambda: [self.doing(name) for name in ("planner", "reviewer")] == ["idle", "idle"])

    def doing(self, name: str) -> str:
        agents = {one["name"]: one["sessions"] for one in self.ask("agents")["agents"]}
        return agents[name][0]["presence"] if agents.get(name) else "gone"

    def thread(self) -> list[dict[str, Any]]:
        """Its messages."""
        [first] = [one for one in self.ask("sent", "--as", ANA)["messages"] if one["to"] == "planner"]
        return self.ask("thread", first["id"])["messages"]

    def said(self) -> list[Said]:
        return [Said(_name(one["sender"]), _name(one["to"]), one["body"]) for one in self.thread()]

    def deliveries(self) -> list[dict[str, Any]]:
        """How far each message of the thread got with each agent."""
        found = [self.ask("receipts", one["id"])["deliveries"] for one in self.thread()]
        return [one for each in found for one in each if one["recipient"] in EVIDENCE]

    def unproven(self) -> list[dict[str, Any]]:
        """Those that nothing proves to be seen, or not in the way of their agent."""
        return [
            one for one in self.deliveries()
            if one["state"] not in ("seen", "acked") or one["evidence"] not in EVIDENCE[one["recipient"]]
        ]  # fmt: skip

    def check(self) -> None:
        """It is one thread, each has it in its own way and nobody has anything twice; all was typed."""
        assert self.said() == CONVERSATION
        assert len({one["thread"] for one in self.thread()}) == 1
        assert self.unproven() == []
        assert {(one["attempts"], one["shown_before"]) for one in self.deliveries()} == {(1, False)}
        [last] = [self.ask("receipts", one["id"]) for one in self.thread() if one["to"] == "@all"]
        assert {one["recipient"]: one["evidence"] for one in last["deliveries"]} == {
            "builder": "agent", "reviewer": "runtime_ack", "planner": "transcript",
        }  # fmt: skip
        heard = Path(self.project, "heard").read_text("utf-8").split()
        assert len(heard) == len(set(heard)) == 4
        letters = Path(self.project, "mail", "builder")
        for folder in ("inbox", "outbox"):
            assert len(list((letters / folder / "processed").iterdir())) == 2
        assert list((letters / "outbox" / "rejected").iterdir()) == []
        assert self.left == []


def confined(above: int) -> bool:
    """Whether the agent below a process has no network of ours, and nothing but its mailbox and programs."""
    words = b"/bin/sh\0/agent.sh\0/mail\0"
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    chains = {pid: list(host.ancestors(pid)) for pid in pids if _bytes(f"/proc/{pid}/cmdline") == words}
    pid = min((len(chain), pid) for pid, chain in chains.items() if above in chain)[1]  # not a fork of its
    is_apart = os.readlink(f"/proc/{pid}/ns/net") != os.readlink(f"/proc/{above}/ns/net")
    return is_apart and set(os.listdir(f"/proc/{pid}/root")) <= {
        "agent.sh", "bin", "lib", "lib64", "mail", "usr",
    }  # fmt: skip


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""  # it has ended


def _name(address: str) -> str:
    return address.removeprefix("shop/")


def _even(text: str) -> list[str]:
    """The paragraphs, without what differs from one walk to the next; recipients come in any order."""
    order = list(dict.fromkeys(HANDLE.findall(text)))
    text = VARIES.sub("…", HANDLE.sub(lambda match: f"#{order.index(match[0])}", text))
    head, *parts = text.rstrip().split("\n\n")
    return [head, *(sorted(parts) if "evidence: " in text else parts)]
