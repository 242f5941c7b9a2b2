"""The tools that real agents use, as events, where their user wants that."""

import json

import pytest

from postroom.runtimes import NAMES, load
from tests.agents.conftest import MakeDesk


@pytest.mark.parametrize("name", [name for name in NAMES if load(name).tools])
def test_each_tool_that_an_agent_used_is_an_event_once_and_so_is_its_result(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    desk.env["POSTROOM_RECORD_TOOLS"] = "on"
    done = desk.run("[[both echo AL''PHA ||| echo BE''TA]] [[bash echo GAM''MA]] [[say GOODBYE]]")
    assert done.code == 0, done
    assert desk.run("[[say AGAIN]]").code == 0  # some tell hooks of no end, or write late
    events = list(desk.room.events())
    calls = [event.payload for event in events if event.type == "tool_call"]
    results = [event.payload for event in events if event.type == "tool_result"]
    assert sorted(call["call_id"] for call in calls) == sorted(result["call_id"] for result in results)
    assert len({call["call_id"] for call in calls}) == len(calls)
    asked = desk.rig.log.last("AL''PHA")
    told = [word for word in ("ALPHA", "BETA", "GAMMA") if word in asked]  # Qwen Code may miss what is short
    assert told
    for word in told:
        assert [word in json.dumps(result["output"]) for result in results].count(True) == 1, word
    assert all(result["ok"] and result["tool"] != "unknown" for result in results)
    assert desk.complaints() == ""
