"""The mailbox of an agent that is a part of a program, whichever library runs it."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from postroom.model.ladder import State
from postroom.room.local import LocalRoom, open_room
from postroom.sdk.desk import Desk


@pytest.fixture
def room(home: str) -> Iterator[LocalRoom]:
    with open_room(home, agent="builder", project="p") as found:
        found.join("builder")
        found.join("planner")
        yield found


def state(room: LocalRoom, ref: str) -> State:
    return room.receipts(ref).deliveries[0].state


@pytest.mark.promise("sdk")
def test_of_the_tools_of_one_answer_none_proves_what_another_gave(room: LocalRoom):
    """However they are run: side by side, or one after the other."""

    async def work() -> None:
        desk = Desk(room)
        run = desk.begin()
        assert await run.ask() == ""
        await run.answered()
        sent = room.send("builder", "by tool", sender="planner")
        found, trouble = await desk.call("read", {})
        assert (found["messages"][0]["body"], trouble) == ("by tool", "")
        await desk.call("agents", {})
        assert state(room, sent.id) is State.OFFERED
        await run.ask()
        await desk.call("agents", {})  # as an answer to the request that had it
        assert state(room, sent.id) is State.SEEN
        await desk.end(run)
        await desk.close()

    asyncio.run(work())


def test_a_person_is_asked_without_the_library_of_the_protocol(room: LocalRoom):
    """Which takes a second and a half to load, in which the program's loop would stand still."""
    code = """if True:
        import asyncio, sys, postroom
        from postroom.sdk.desk import Desk
        desk = Desk(postroom.open(sys.argv[1], agent="builder", project="p"))
        found, trouble = asyncio.run(desk.call("ask_human", {"question": "Which port?", "wait": 0}))
        print(found["answered"], "mcp" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, room.home], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["False", "False"], done
