"""The tutorial of three agents, with the very agents that it names."""

import os

import pytest

from tests.agents.clis import CLIS
from tests.agents.conftest import MakeRig
from tests.agents.desk import BIN
from tests.machine import unshare
from tests.walk import ANA, CONVERSATION, REVIEWER, Walk, confined


@pytest.mark.promise("examples")
def test_claude_code_gemini_and_a_shell_script_talk_in_one_thread(make_rig: MakeRig) -> None:
    unshare("-r", "-m", "-n", "--pid", "--fork", "--kill-child")
    rig = make_rig("claude")
    other = rig.also(CLIS["gemini"])
    programs = (BIN, os.path.dirname(rig.program), os.path.dirname(other.program), rig.env["PATH"])
    here = {"PATH": ":".join(programs), "GEMINI_MODEL": "gemini-2.5-pro"}
    walk = Walk(rig.place.project, other.env | rig.env | here, rig.prefix)

    def tell_reviewer(script: str) -> None:
        walk.run("postroom", "command", "reviewer", script, "--as", ANA)

    walk.type("postroom join")
    walk.type("mkdir")
    with walk.beside("unshare") as place:
        walk.type("postroom spawn")
        tell_reviewer(f"[[mail {REVIEWER}]] [[say READY]]")
        walk.type("postroom setup claude --allow")
        assert walk.block("POSTROOM_AGENT=")[0] == "POSTROOM_AGENT=planner claude\n"
        with rig.terminal("--allowedTools", "Bash", POSTROOM_AGENT="planner", **here) as claude:
            claude.wait_idle()
            claude.submit("[[mail sh planner.sh %handle%]] [[say BEGUN]]")
            claude.wait_screen("BEGUN")
            claude.wait_idle()
            walk.talk(rest=lambda: tell_reviewer("[[say WAITING]]"))
        assert confined(place)
    walk.type("postroom stop")
    walk.check()
    for text in (one.body for one in CONVERSATION if one.to == "planner"):
        assert rig.log.count(text, about="planner.sh") == 1
