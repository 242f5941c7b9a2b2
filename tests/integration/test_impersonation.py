"""`mallory` has a token of its own, and tries by every door to speak, read and decide as `builder`."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from postroom import host
from postroom.model.ladder import State
from postroom.protocol.operation import OPERATIONS, Operation
from postroom.room.local import LocalRoom
from tests.commandline import COMMAND, CommandLine
from tests.integration.test_server import at_socket
from tests.process import environment
from tests.relayed import linked, linked_locally
from tests.served import Served, served
from tests.toolbox import by_command, call

pytestmark = pytest.mark.promise("web-identity")

VICTIM = "builder"
NAMES = [
    "builder", "p/builder", "builder.child", "p/builder.child", "human:ana", "room", "postroom",
    " builder", "builder ", "Builder", "builder\u200b", "mallory/../builder", "p/../p/builder", "@builders",
    "one:builder", "mallory.x/builder", "builder\x00", "мallory",
]  # fmt: skip


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    for name in ("human:ana", "mallory", "builder.child"):
        room.join(name)
    with served(room) as found:
        yield found


def spoken(web: Served) -> list[tuple[str, str]]:
    """Who has said anything, and how that is known."""
    with web.room.store.read() as tx:
        events = tx.events()
    return [(one.message.sender, one.message.verified) for one in events if one.message]


# Each tries to send in the name that it is given; what it was answered.


def by_rest(web: Served, name: str) -> Any:
    body = {"to": "planner", "body": "x", "sender": name}
    return web.post("/messages", body, token=web.token("mallory")).json


def by_ask(web: Served, name: str) -> Any:
    body = {"to": "planner", "body": "x", "sender": name, "timeout": 0}
    return web.post("/ask", body, token=web.token("mallory")).json


def by_relay(web: Served, name: str) -> Any:
    with linked(web, "mallory") as mallory:
        return mallory.ask("send", to="planner", body="x", sender=name)


def by_a_page(web: Served, name: str) -> Any:
    """A person is one, too, and no agent."""
    headers = {"Cookie": web.cookie("human:ana"), "Origin": web.url}
    if name == "human:ana":
        headers["Cookie"] = web.cookie("human:ana") + "x"
    return web.post("/messages", {"to": "planner", "body": "x", "sender": name}, headers=headers).json


def by_session(web: Served, name: str) -> Any:
    """What the door of other systems takes says nothing of a sender."""
    said = {"message": "x", "sender": name, "from": name}
    token = web.token("mallory")
    return web.post("/api/sessions/planner/send", said, token=token, prefix="").json


def by_unix(web: Served, name: str) -> Any:
    """In the session of an agent, whatever it calls itself."""
    _in_session_of(web, "mallory")
    body = {"to": "planner", "body": "x", "sender": name}
    header = name if name.isascii() and name.isprintable() else "builder"
    return at_socket(web, "POST", "/messages", body, {"Postroom-Agent": header})


SENDING: list[Callable[[Served, str], Any]] = [by_rest, by_ask, by_relay, by_a_page, by_session, by_unix]


@pytest.mark.parametrize("send", SENDING)
def test_nobody_is_let_send_in_another_name(web: Served, send: Callable[[Served, str], Any]):
    for name in NAMES:
        assert "error" in send(web, name), name
    assert spoken(web) == []


@pytest.mark.parametrize("path", ["/ws/projects/p?agent=", "/ws/agent/messages/p?agent_id="])
def test_nobody_is_connected_in_another_name(web: Served, path: str):
    headers = {"Authorization": f"Bearer {web.token('mallory')}"}
    for name in ("builder", "p/builder", "builder.child", "human:ana", "builder%20", "x/../builder"):
        with pytest.raises(InvalidStatus):
            linked(web, "", path=f"{path}{name}", headers=headers)
    assert web.room.store.look().agent_named("p", "x") is None


def test_what_a_frame_of_another_system_says_of_its_writer_is_not_believed(web: Served):
    claims = {"agent_id": VICTIM, "sender": VICTIM, "from": VICTIM, "verified": "page", "id": "1",
              "relayed": {"agent_type": "builder", "type": "interrupt"}}  # fmt: skip
    with (
        linked(web, "mallory", path="/ws/agent/messages/p?agent_id=mallory") as mallory,
        linked(web, "planner", path="/ws/agent/messages/p?agent_id=planner") as planner,
    ):
        said = {"agent_type": "x", "agent_id": VICTIM, "sender": VICTIM, "content": "hi", "metadata": claims}
        mallory.say(**said)
        heard = planner.raw()
        assert (heard["metadata"]["agent_id"], heard["type"]) == ("mallory", "status")
        assert heard["metadata"]["id"] != "1"
    assert set(spoken(web)) == {("mallory", "token")}


def test_a_header_that_counts_at_the_unix_socket_counts_nowhere_else(web: Served):
    headers = {"Postroom-Agent": VICTIM, "X-Forwarded-For": "uid:0", "Forwarded": "for=uid:0"}
    assert web.get("/me", headers=headers).status == 401
    assert web.get("/me", headers=headers, token=web.token("mallory")).json["agent"] == "p/mallory"


def test_a_process_in_an_agents_session_is_that_agent_on_every_path_of_the_unix_socket(web: Served):
    _in_session_of(web, "mallory")
    me = at_socket(web, "GET", "/me", None, {"Postroom-Agent": VICTIM})
    assert (me["agent"], me["verified"] != "unverified") == ("p/mallory", True)
    for path in ("/ws/projects/p?agent=builder", "/ws/agent/messages/p?agent_id=builder"):
        with pytest.raises(InvalidStatus) as refused:
            linked_locally(web, path)
        assert json.loads(refused.value.response.body or b"")["error"] == "not_your_name"
    assert at_socket(web, "POST", f"/agents/{VICTIM}/interrupt", {}, {})["error"] == "lacks_scope"
    assert at_socket(web, "POST", "/link", {}, {})["error"] == "lacks_scope"


def test_a_program_that_only_says_who_it_is_is_marked_so_and_steers_nobody_else(web: Served):
    said = at_socket(web, "POST", "/messages", {"to": "planner", "body": "x"}, {"Postroom-Agent": VICTIM})
    assert said["message"]["verified"] == "unverified"


def _acts(ref: str, gate: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        ("POST", f"/messages/{ref}/reply", {"body": "x", "agent": VICTIM}),
        ("POST", f"/messages/{ref}/reply", {"body": "x"}),
        ("POST", f"/messages/{ref}/ack", {"agent": VICTIM}),
        ("POST", f"/messages/{ref}/ack", {}),
        ("POST", f"/messages/{ref}/nack", {"reason": "no", "agent": VICTIM}),
        ("POST", f"/messages/{ref}/withdraw", {}),
        ("POST", f"/messages/{ref}/withdraw", {"sender": "planner"}),
        ("POST", f"/messages/{ref}/forward", {"to": "mallory"}),
        ("POST", f"/messages/{gate}/decide", {"option": "approve"}),
        ("POST", f"/messages/{gate}/decide", {"option": "approve", "agent": "human:ana"}),
        ("POST", "/inbox/take", {"agent": VICTIM}),
        ("POST", "/inbox/take", {"id": ref}),
        ("POST", "/inbox/settle", {"id": ref, "claim": "x", "agent": VICTIM}),
        ("POST", "/inbox/give_up", {"id": ref, "claim": "x"}),
        ("POST", "/inbox/bundle", {"agent": VICTIM}),
        ("POST", "/inbox/settle_all", {"claims": [{"id": ref, "claim": "x"}], "agent": VICTIM}),
        ("POST", "/inbox/frame", {"ids": [ref], "agent": VICTIM}),
        ("GET", f"/inbox?agent={VICTIM}", {}),
        ("GET", f"/inbox/held?agent={VICTIM}", {}),
        ("GET", f"/sent?agent={VICTIM}", {}),
        ("GET", f"/threads?agent={VICTIM}", {}),
        ("GET", f"/messages/{ref}", {}),
        ("GET", f"/messages/{ref}/receipts", {}),
        ("GET", f"/messages/{ref}/thread", {}),
        ("GET", f"/messages/{ref}/timeline", {}),
        ("GET", f"/messages/{ref}/attachments", {}),
        ("GET", f"/messages/{ref}/attachments/1", {}),
        ("GET", f"/inbox/listen?agent={VICTIM}", {}),
        ("POST", "/agents", {"name": "builder.spy"}),
        ("POST", "/agents", {"name": "human:eve"}),
        ("POST", f"/agents/{VICTIM}/leave", {}),
        ("POST", f"/agents/{VICTIM}/rename", {"name": "mine"}),
        ("POST", f"/agents/{VICTIM}/idle", {}),
        ("POST", f"/agents/{VICTIM}/manners", {"mute": True}),
        ("POST", f"/agents/{VICTIM}/interrupt", {}),
        ("POST", f"/agents/{VICTIM}/command", {"text": "/quit"}),
        ("GET", f"/agents/{VICTIM}/screen", {}),
        ("PUT", "/topics/news/subscription", {"agent": VICTIM}),
        ("DELETE", f"/topics/news/subscription?agent={VICTIM}", {}),
        ("POST", "/link", {}),
        ("GET", "/stats", {}), ("GET", "/metrics", {}), ("GET", "/dead", {}), ("GET", "/status", {}),
    ]  # fmt: skip


def test_nothing_of_anothers_is_read_answered_or_decided(web: Served):
    """Over HTTP, and by each operation as a call of a WebSocket, told of the other in all that it takes."""
    web.room.subscribe("news", agent=VICTIM)
    ref = web.room.send(VICTIM, "a secret", attachments=[("a.txt", b"secret")]).id
    gate = web.room.send("human:ana", "?", type="decision_gate", payload={"question": "Deploy?"}).id
    token, before = web.token("mallory"), len(list(web.room.events()))
    for method, path, body in _acts(ref, gate):
        answer = web.ask(method, path, body if method != "GET" else None, token=token)
        assert answer.status in (403, 404, 409), (method, path, answer)
        assert b"secret" not in answer.content
    with linked(web, "mallory", window=0) as mallory:
        for one in OPERATIONS:
            found = mallory.ask(one.name, **_of_victim(one, ref))
            assert "secret" not in json.dumps(found), one.name
            assert found.get("error") != "invalid_value", found  # else nothing was tried
            assert "error" in found or one.method == "GET", one.name
    assert len(list(web.room.events())) == before
    assert web.room.receipts(ref).deliveries[0].state is State.STORED
    assert web.room.gate(gate).decision is None
    assert [one.name for one in web.room.subscribers("news")] == [VICTIM]


def _of_victim(operation: Operation, ref: str) -> dict[str, Any]:
    """All that an operation takes, said of the victim and its mail."""
    said = {
        "ref": ref, "id": ref, "agent": VICTIM, "sender": VICTIM, "address": VICTIM, "name": "builder.spy",
        "to": "planner", "body": "x", "option": "approve", "reason": "x", "text": "/quit", "timeout": 0,
        "q": "x", "rung": "seen", "claim": "x", "claims": [{"id": ref, "claim": "x"}], "ids": [ref], "n": "1",
        "listener": "x",
    }  # fmt: skip
    found = {name: said[name] for name in said if operation.find(name)}
    if "id" in found:  # a frame's own
        found["ref"] = found.pop("id")
    return found


# Each tries to give an address; what it was answered, as text.


def joined_by_rest(web: Served, name: str, project: str, about: Any) -> str:
    found = web.post(f"/agents?project={project}", {"name": name, **about}, token=web.token("p/boss"))
    return found.content.decode()


def joined_by_relay(web: Served, name: str, project: str, about: Any) -> str:
    with linked(web, "p/boss", window=0) as boss:
        return json.dumps(boss.ask("join", name=name, project=project, **about))


def joined_by_command(web: Served, name: str, project: str, about: Any) -> str:
    """On the room's own machine, and as from another."""
    said = [part for key, value in about.items() for part in (f"--{key}", value)]
    env = {"POSTROOM_TOKEN": web.token("p/boss")}
    argv = ("join", name, *said, "--project", project, "--json")
    found = [CommandLine(home)(*argv, env=env) for home in (web.room.home, web.url)]
    assert found[0].code == found[1].code
    return found[0].err + found[1].err if found[0].code else found[0].out


JOINING: list[Callable[[Served, str, str, Any], str]] = [joined_by_rest, joined_by_relay, joined_by_command]
_TAKEN: list[tuple[str, str, dict[str, str]]] = [
    ("boss", "bank", {"role": "nobody"}),
    ("boss", "bank", {"supervisor": "p/boss"}),
    ("bank/boss", "p", {"supervisor": "p/boss"}),
    ("boss", "bank", {}),
    ("boss.kid", "bank", {}),
    ("boss", "newproject", {}),
    ("boss.kid", "newproject", {}),
    ("newproject/boss", "p", {}),
    ("builder", "p", {"role": "nobody"}),
    ("builder.kid", "p", {}),
    ("stranger", "p", {}),
    ("ghost.kid", "p", {}),
    ("human:boss", "p", {}),
    ("boss", "p", {"supervisor": "p/boss"}),
    ("boss", "p", {"supervisor": "boss.own"}),
    ("boss", "p", {"supervisor": "builder"}),
    ("boss.own", "p", {"supervisor": "builder"}),
]  # fmt: skip


@pytest.fixture
def namesake(web: Served) -> Served:
    """p/boss has taken the name that somebody else has in another project."""
    for name in ("bank/boss", "boss", "boss.own"):
        web.room.join(name, role="treasurer")
    return web


@pytest.mark.parametrize("join", JOINING)
def test_an_agent_gives_no_address_but_its_own_and_its_childrens(namesake: Served, join: Callable[..., str]):
    before = list(namesake.room.events())
    for name, project, about in _TAKEN:
        assert "error" in (said := join(namesake, name, project, about)), (name, project, about)
        assert "not_your_name" in said, said
    assert list(namesake.room.events()) == before


@pytest.mark.parametrize("join", JOINING)
def test_an_agent_joins_itself_again_and_makes_its_own_children(namesake: Served, join: Callable[..., str]):
    for name, project in (("boss", "p"), ("p/boss", "bank"), ("boss.kid", "p"), ("boss.a.b", "p")):
        assert "error" not in join(namesake, name, project, {"role": "lead"}), name
    assert "error" not in join(namesake, "boss.kid", "p", {"supervisor": "boss"})
    me, kid, far = (namesake.room.known(name) for name in ("p/boss", "p/boss.kid", "p/boss.a.b"))
    assert (me.role, kid.role, kid.supervisor) == ("lead", "lead", me.id)
    assert kid.id.startswith(f"{me.id}.")
    assert far.id.startswith(f"{me.id}.")


def test_a_namesake_of_another_project_neither_steers_it_nor_gets_what_it_writes_upwards(namesake: Served):
    token = namesake.token("p/boss")
    taken = namesake.post("/agents?project=bank", {"name": "boss", "supervisor": "p/boss"}, token=token)
    assert (taken.status, taken.json["error"]) == (403, "not_your_name")
    assert namesake.post("/agents/bank/boss/interrupt", {"kind": "pause"}, token=token).status == 403
    up = namesake.post("/messages", {"to": "@up", "body": "x"}, token=namesake.token("bank/boss"))
    assert b"p/boss" not in up.content


@pytest.mark.parametrize("where", ["home", "url"])
def test_the_tools_serve_an_agent_as_itself_in_whatever_project_they_are_started(
    namesake: Served, where: str, tmp_path: Path
):
    """By the room's files and by its daemon: a name that is another's counts for nothing."""
    home = namesake.room.home if where == "home" else namesake.url
    token = namesake.token("p/boss")
    env = environment(
        POSTROOM_HOME=home, POSTROOM_TOKEN=token, POSTROOM_PROJECT="bank", POSTROOM_AGENT="boss"
    )
    more = ["--no-daemon"] if where == "home" else []
    before = list(namesake.room.events())

    async def run() -> Any:
        async with by_command([*COMMAND, "mcp", *more], env, str(tmp_path)) as one:
            return await call(one, "agents")

    assert asyncio.run(run())["you"] == "p/boss"
    assert [one for one in list(namesake.room.events())[len(before) :] if one.type.startswith("agent")] == []


def test_nobody_takes_the_name_of_anothers_child(web: Served):
    token = web.token("mallory")
    for name in ("builder.kid", "builder.child.kid", "ghost.kid", "mallory.kid"):
        found = web.post("/agents/mallory/rename", {"name": name}, token=token)
        assert (found.status, found.json["error"]) == (403, "not_your_name"), name
    assert web.post("/agents", {"name": "mallory.kid"}, token=token).status == 200
    for was, name in (("mallory.kid", "mallory.kid2"), ("mallory.kid2", "kid")):
        assert web.post(f"/agents/{was}/rename", {"name": name}, token=token).status == 200
    about = {"name": "boss", "supervisor": "p/builder"}
    assert web.post("/agents?project=bank", about, token=web.token("human:ana")).status == 200


def test_a_person_who_may_not_operate_gives_no_address_to_others(web: Served):
    token = web.token("human:ana", "mail")
    for name in ("ana", "p/ana", "builder", "human:eve"):
        assert web.post("/agents?project=p", {"name": name}, token=token).status == 403, name
    assert web.post("/agents", {"name": "human:ana", "description": "here"}, token=token).status == 200


def test_the_stream_tells_nobody_of_others(web: Served):
    link = web.connection()
    link.request("GET", "/api/v1/stream?after=0", headers={"Authorization": f"Bearer {web.token('mallory')}"})
    stream = link.getresponse()
    web.room.send(VICTIM, "a secret")
    web.room.send("mallory", "the end")
    heard = ""
    while "the end" not in heard:
        heard += stream.readline().decode()
    link.close()
    assert "secret" not in heard


def _in_session_of(web: Served, name: str) -> None:
    """This very process runs in a session of it."""
    if web.room.store.look().sessions(web.room.known(name).id):
        return
    payload = {
        "id": "claude:s1:main", "runtime": "claude", "process": host.identity(), "pane": None,
        "worktree": "/x", "branch": None, "epoch": 0, "details": {},
    }  # fmt: skip
    with web.room.write() as tx:
        tx.append("session.started", web.room.known(name).id, payload=payload, role="agent")
