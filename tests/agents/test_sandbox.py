"""What agents send from inside the sandbox of their CLI: stored if set-up opened the room, or spooled."""

import contextlib
import json
import os
import shutil
from typing import Any

import pytest

from postroom.hooks import program
from postroom.model.ladder import State
from postroom.runtimes import load
from postroom.runtimes.contract import Kind
from postroom.setup.plan import commands
from tests.agents.clis import CLIS
from tests.agents.conftest import MakeRig
from tests.agents.desk import ANA, BIN, Desk
from tests.agents.rig import Done, Rig

SANDBOXED = ("claude", "codex")
sandboxes = pytest.mark.parametrize("name", SANDBOXED)
SYSTEM = "/usr/sbin:/sbin"
OUTBOX = os.path.join(".postroom", "outbox")


def sandboxed(make_rig: MakeRig, name: str) -> Rig:
    """A rig whose agent can run its commands in its sandbox."""
    rig = make_rig(name)
    for need in rig.cli.confine_needs:
        if shutil.which(need, path=f"{rig.env['PATH']}:{SYSTEM}") is None:
            pytest.skip(f"NOT TESTED HERE: no {need} for the sandbox of {name}")
    return rig


def confined(rig: Rig) -> list[str]:
    assert rig.cli.confine is not None
    return rig.cli.confine(rig.place)


def wired(rig: Rig) -> Desk:
    """As an agent whose hooks were set up and whose sandbox was not: it cannot write in the room."""
    desk = Desk(rig)
    desk.env["POSTROOM_PROJECT"] = "shop"
    desk.room.join("backend")
    desk.room.join("builder")
    known = load(rig.cli.name)
    wakes = [point.event for point in known.points if point.kind is Kind.WAKE]
    program.install(desk.home)
    hooks = commands(known, desk.home)
    rig.cli.wire(rig.place, {event: command for event, command in hooks.items() if event not in wakes})
    return desk


def run(desk: Desk, *lines: str, then: str = "[[say GOODBYE]]") -> Done:
    """Let the agent run these lines in its sandbox."""
    with open(os.path.join(desk.rig.place.project, "say.sh"), "w", encoding="utf-8") as file:
        file.write("\n".join(["trap 'echo $? >ended' EXIT", "set -e", *lines]))
    done = desk.rig.run(
        f"[[bash sh say.sh >said.txt 2>error.txt]] {then}",
        *confined(desk.rig),
        **desk.env,
    )
    assert (done.code, made(desk, "ended"), made(desk, "error.txt")) == (0, "0", ""), done
    return done


def made(desk: Desk, name: str) -> str:
    with open(os.path.join(desk.rig.place.project, name), encoding="utf-8") as file:
        return file.read().strip()


def answers(desk: Desk) -> list[dict[str, Any]]:
    return [json.loads(line) for line in made(desk, "said.txt").splitlines()]


@sandboxes
def test_set_up_lets_the_sandbox_write_in_the_room_and_nothing_else_beside_it(
    make_rig: MakeRig, name: str
) -> None:
    desk = Desk(sandboxed(make_rig, name)).set_up()
    run(
        desk,
        f"env -u POSTROOM_AGENT postroom send {ANA} hello --json",
        f"for each in ~/.claude ~/.codex ~ {desk.home}-hooks {desk.home}-hooks/life; do",
        '  if [ -d "$each" ] && echo x 2>/dev/null >"$each/probe"; then exit 9; fi',
        "done",
    )
    [answer] = answers(desk)
    assert answer["deliveries"][0]["state"] == "stored"
    [mail] = desk.room.peek(ANA)
    # The sandbox hides the processes above: the session's id gives a name, and no proof of it.
    assert (mail.sender, mail.message.verified, mail.message.sender_session) == (
        "shop/backend", "unverified", None,
    )  # fmt: skip
    assert not os.path.exists(os.path.join(desk.rig.place.project, OUTBOX))
    assert desk.complaints() == ""
    desk.note("sandbox")


@sandboxes
def test_what_the_sandbox_keeps_out_is_taken_in_by_the_next_hook_and_reaches_the_other_agent_once(
    make_rig: MakeRig, name: str
) -> None:
    with contextlib.closing(wired(sandboxed(make_rig, name))) as desk:
        asked, told = desk.send(), desk.send()
        run(
            desk,
            "postroom send builder MARK-SENT --json",
            f"postroom reply {asked.id} MARK-ANSWERED --json",
            f"postroom ack {told.id} --json",
            then=f"[[bash ls {OUTBOX} >left.txt 2>&1; echo $? >gone]] [[say GOODBYE]]",
        )
        assert [answer["state"] for answer in answers(desk)] == ["spooled"] * 3
        assert made(desk, "gone") == "2", made(desk, "left.txt")
        [mail] = desk.room.peek("builder")
        [answer] = desk.room.peek(ANA)
        assert (mail.body, mail.sender, mail.message.verified) == ("MARK-SENT", "backend", "hook")
        assert (answer.body, answer.message.reply_to) == ("MARK-ANSWERED", asked.id)
        assert [desk.delivery(one.id).state for one in (asked, told)] == [State.ACKED] * 2
        assert desk.complaints() == ""
        other = desk.env | {"POSTROOM_AGENT": "builder"}
        assert desk.rig.run("MARK-OTHER [[bash echo hi]] [[say GOODBYE]]", **other).code == 0
        assert desk.rig.log.count("MARK-SENT", about="MARK-OTHER") == 1
        assert desk.is_seen(mail.message.id)
        desk.note("spool")


@sandboxes
def test_a_letter_left_from_another_directory_is_taken_in_by_the_next_hook(
    make_rig: MakeRig, name: str
) -> None:
    with contextlib.closing(wired(sandboxed(make_rig, name))) as desk:
        place = desk.rig.place.project
        os.makedirs(os.path.join(place, "src", "deep"))
        run(
            desk,
            "true",
            then="[[bash cd src/deep && postroom send builder hello --json >said.json]] "
            f"[[bash ls {place}/{OUTBOX} >{place}/left.txt 2>&1; echo $? >{place}/gone]] [[say GOODBYE]]",
        )
        assert json.loads(made(desk, "src/deep/said.json"))["state"] == "spooled"
        assert made(desk, "gone") == "2", made(desk, "left.txt")
        [mail] = desk.room.peek("builder")
        assert (mail.body, mail.sender, mail.message.verified) == ("hello", "backend", "hook")


@pytest.mark.parametrize("name", ["copilot", "qwen"])
def test_an_agent_whose_sandbox_keeps_our_hooks_from_working_works_on(make_rig: MakeRig, name: str) -> None:
    """Copilot CLI runs its hooks in its sandbox, where they are not to be found; Qwen Code runs none."""
    desk = Desk(sandboxed(make_rig, name)).set_up()
    waits = desk.send()
    env = desk.env | {"PATH": f"{desk.env['PATH']}:{SYSTEM}"}
    with open(os.path.join(desk.rig.place.project, "probe.sh"), "w", encoding="utf-8") as file:
        file.write("touch ~/probe; echo done >made.txt\n")
    done = desk.rig.run("[[bash sh probe.sh]] [[say GOODBYE]]", *confined(desk.rig), **env)
    assert made(desk, "made.txt") == "done", done
    assert not os.path.exists(os.path.join(desk.rig.place.home, "probe")), "it was in no sandbox"
    assert desk.rig.log.arrival(waits.mark) is None
    assert desk.delivery(waits.id).state is State.STORED


def test_doctor_finds_out_inside_the_sandbox_of_codex_what_becomes_of_mail(make_rig: MakeRig) -> None:
    rig = sandboxed(make_rig, "codex")
    desk = Desk(rig).set_up()
    path = os.path.join(rig.place.home, ".codex", "config.toml")
    with open(path, encoding="utf-8") as file:
        opened = file.read()
    table = "[sandbox_workspace_write]\n"  # scratch directories lie where it may write, too
    narrow = opened.replace(table, f"{table}exclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n")
    assert narrow != opened
    elsewhere = narrow.replace(desk.home, f"{desk.home}-elsewhere")
    verdicts: list[str] = []
    for content in (narrow, elsewhere, f'sandbox_mode = "read-only"\n{narrow}'):
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        done = rig.command(os.path.join(BIN, "postroom"), "doctor", "codex", "--json", **desk.env)
        [found] = json.loads(done.out)["runtimes"]
        verdicts.append(found["sandbox"]["verdict"])
    assert verdicts == ["stores", "spools", "fails"]


@sandboxes
def test_an_idle_codex_is_woken_though_who_writes_to_it_is_in_a_sandbox(make_rig: MakeRig, name: str) -> None:
    rig = sandboxed(make_rig, name)
    other = rig if name == "codex" else rig.also(CLIS["codex"])
    desk = Desk(rig).set_up()
    assert other.command(os.path.join(BIN, "postroom"), "setup", "codex", "--yes", **desk.env).code == 0
    path = f"{os.path.dirname(other.program)}:{desk.env['PATH']}"
    with other.terminal(POSTROOM_AGENT="api", PATH=path) as codex:
        codex.wait_idle()
        codex.submit("[[say READY-B]]")
        codex.wait_screen("READY-B")
        codex.wait_idle()
        done = rig.run(
            "[[bash postroom send api 'MARK-WA''KE']] [[bash sleep 3]] [[say GOODBYE]]",
            *confined(rig), **desk.env | {"PATH": path},
        )  # fmt: skip
        assert done.code == 0, done
        rig.log.wait("MARK-WAKE")
        assert rig.log.count("MARK-WAKE", about="READY-B") == 1
    assert desk.complaints() == ""
