"""What each agent CLI says at its events, and what it takes from a hook, held against what it really does."""

import json

import pytest

from postroom.errors import UnknownRuntime
from postroom.protocol.schema import check
from postroom.runtimes import NAMES, load
from postroom.runtimes.contract import NUDGE, Kind, Point, Runtime, Said, Wake, Words
from postroom.runtimes.plugin import program, program_in
from postroom.runtimes.process import Sleeper
from tests.recorded import Capture, captures, schema, schemas, strings

RUNTIMES = [load(name) for name in NAMES]
POINTS = [
    pytest.param(runtime, point, id=f"{runtime.name}-{point.event}")
    for runtime in RUNTIMES
    for point in runtime.points
]
TEXT = 'Mail with "quotes", two\nlines and ünïcode.'


@pytest.mark.promise("hook-shape")
@pytest.mark.parametrize(("runtime", "point"), POINTS)
def test_what_a_hook_says_is_what_its_runtime_accepts_at_that_event(runtime: Runtime, point: Point) -> None:
    said = runtime.say(point, Words(TEXT))
    accepted = schema(runtime.name, point.event)
    if point.kind is Kind.WAKE:
        assert said == Said(stderr=TEXT, code=2)
    elif accepted is not None:
        document = json.loads(said.stdout)
        check(document, accepted)
        assert TEXT in strings(document)
        assert (said.stderr, said.code) == ("", 0)
    else:
        assert not point.proven_by, "it offers mail where nothing is passed on"


@pytest.mark.promise("hook-shape")
@pytest.mark.parametrize(("runtime", "point"), POINTS)
def test_a_hook_with_nothing_to_say_prints_nothing(runtime: Runtime, point: Point) -> None:
    assert runtime.say(point, Words("")) == Said()


@pytest.mark.promise("hook-shape")
@pytest.mark.parametrize(("runtime", "point"), POINTS)
def test_the_longest_text_a_runtime_is_given_passes_whole(runtime: Runtime, point: Point) -> None:
    accepted = schema(runtime.name, point.event)
    if accepted is not None:
        check(json.loads(runtime.say(point, Words("x" * runtime.budget)).stdout), accepted)


@pytest.mark.parametrize("runtime", RUNTIMES, ids=NAMES)
def test_what_proves_an_offer_is_an_event_at_which_our_hook_runs(runtime: Runtime) -> None:
    events = {point.event for point in runtime.points}
    assert len(events) == len(runtime.points)
    for point in runtime.points:
        assert set(point.proven_by) <= events
    assert {point.event for point in runtime.points} >= set(schemas(runtime.name))


@pytest.mark.parametrize("runtime", RUNTIMES, ids=NAMES)
def test_an_event_of_one_of_several_tools_proves_nothing(runtime: Runtime) -> None:
    """With parallel tools, the end of one tells nothing of what was said after another."""
    batches = {"PostToolBatch"}  # all tools of one answer
    tools = {point.event for point in runtime.points if point.kind is Kind.TOOL} - batches
    for point in runtime.points:
        assert not tools & set(point.proven_by)


@pytest.mark.parametrize("runtime", RUNTIMES, ids=NAMES)
def test_who_is_woken_by_a_call_says_how(runtime: Runtime) -> None:
    assert (runtime.call is not None) == (runtime.wake is Wake.CALL or bool(runtime.socket_env))


def test_claude_code_is_called_by_its_socket_only_where_it_is_known() -> None:
    claude = load("claude")
    assert claude.call is not None
    assert claude.call(sleeper("claude"), NUDGE) is None
    call = claude.call(sleeper("claude")._replace(socket="/tmp/s"), NUDGE)
    assert call is not None
    assert (call.path, call.is_socket) == ("/tmp/s", True)
    assert json.loads(call.line)["message"]["content"] == NUDGE


# What opencode's own hooks are given goes to our plugin, which tells ours in its own words.
RECORDED = [
    pytest.param(capture, id=f"{name}-{capture.name}")
    for name in NAMES
    if name != "opencode"
    for capture in captures(name)
]


@pytest.mark.parametrize("capture", RECORDED)
def test_every_recorded_event_names_its_session(capture: Capture) -> None:
    stdin = capture.stdin
    beat = load(capture.runtime).read(capture.event, stdin)
    assert beat.session
    assert beat.child == stdin.get("agent_id", "")
    assert beat.cwd == stdin.get("cwd", stdin.get("working_dir", ""))


def test_a_subagent_of_copilot_belongs_to_the_session_that_started_it() -> None:
    stdin = {"session_id": "kid", "agent_id": "kid", "parent_agent_id": "main", "agent_type": "general"}
    beat = load("copilot").read("PostToolUse", stdin)
    assert (beat.session, beat.child) == ("main", "kid")
    assert load("copilot").read("PermissionRequest", {"sessionId": "main"}).session == "main"
    assert load("copilot").read("SessionStart", {"sessionId": "main", "source": "new"}).source == "startup"


def test_a_prompt_of_qwen_proves_an_answer_only_if_it_came_after_tools() -> None:
    qwen = load("qwen")
    assert qwen.read("UserPromptSubmit", {"session_id": "s", "prompt": ""}).proves
    assert not qwen.read("UserPromptSubmit", {"session_id": "s", "prompt": "go on"}).proves
    assert qwen.read("Stop", {"session_id": "s"}).proves


@pytest.mark.promise("hook-proof")
def test_the_end_of_a_turn_of_gemini_without_an_answer_proves_nothing() -> None:
    read = load("gemini").read
    told = {"session_id": "s", "prompt": "go", "prompt_response": "Done."}
    beat = read("AfterAgent", told)
    assert (beat.proves, beat.failure) == (True, None)
    failed = read("AfterAgent", told | {"prompt_response": "[no response text]"})
    assert not failed.proves
    assert failed.failure is not None
    goes_on = "[System: You successfully executed a tool but returned an empty response.]"
    assert read("BeforeAgent", {"session_id": "s", "prompt": goes_on}).prompt == "", "nobody has typed that"


@pytest.mark.promise("hook-proof")
def test_the_end_of_a_turn_of_goose_without_an_answer_proves_nothing() -> None:
    read = load("goose").read
    beat = read("Stop", {"session_id": "s", "last_assistant_message": "DONE"})
    assert (beat.proves, beat.failure) == (True, None)
    failed = read("Stop", {"session_id": "s", "matcher_context": None})
    assert not failed.proves
    assert failed.failure is not None


@pytest.mark.promise("hook-proof")
def test_a_turn_of_qwen_has_failed_unless_its_model_had_answered() -> None:
    read = load("qwen").read
    told = {"session_id": "s", "error": "rate_limit", "error_details": "429: too many"}
    failure = read("StopFailure", told).failure
    assert failure is not None
    assert failure.words == "429: too many"
    assert read("StopFailure", told | {"error": "loop_detected"}).failure is None
    assert read("Stop", told).failure is None


def test_gemini_tells_when_a_subagent_begins_and_when_it_ends() -> None:
    gemini, tool = load("gemini"), {"session_id": "s", "tool_name": "invoke_agent"}
    assert gemini.read("BeforeTool", tool).lends is True
    assert gemini.read("AfterTool", tool).lends is False
    assert gemini.read("AfterTool", {**tool, "tool_name": "run_shell_command"}).lends is None


def sleeper(*command: str, transcript: str = "") -> Sleeper:
    return Sleeper("s1", transcript, "/opt/agent", list(command), {"HOME": "/h", "SECRET": "x"}, "/w")


def test_codex_is_called_by_its_own_queue_and_only_in_the_directory_of_who_calls() -> None:
    transcript = "/h/.codex/sessions/2026/11/16/rollout-1.jsonl"
    codex = load("codex")
    assert codex.call is not None
    shared = sleeper("codex", "app-server", "--managed-daemon", transcript=transcript)
    call = codex.call(shared, NUDGE)
    assert call is not None
    assert call.command == ["/opt/agent", "queue", "--thread", "s1", "--message", NUDGE]
    assert call.env == sleeper().env, "the caller's own"
    elsewhere = "/tmp/evil/.codex/sessions/2026/11/16/rollout-1.jsonl"
    assert codex.call(shared._replace(transcript=elsewhere), NUDGE) is None
    assert codex.call(sleeper("codex", "app-server", transcript=transcript), NUDGE) is None, "its own server"
    assert codex.call(sleeper("codex", "exec", "go", transcript=transcript), NUDGE) is None
    assert codex.call(sleeper(transcript=transcript)._replace(program=""), NUDGE) is None


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("node", "qwen", "--input-file", "/in"), "/in"),
        (("node", "qwen", "--input-file=in.jsonl", "-y"), "/w/in.jsonl"),
        (("node", "qwen"), ""),
    ],
)
def test_qwen_is_called_by_the_file_that_it_was_started_with(words: tuple[str, ...], path: str) -> None:
    qwen = load("qwen")
    assert qwen.call is not None
    call = qwen.call(sleeper(*words), NUDGE)
    assert (call.path if call else "") == path
    if call:
        assert json.loads(call.line) == {"type": "submit", "text": NUDGE}


@pytest.mark.parametrize("name", ["opencode", "copilot"])
def test_a_plugin_is_made_for_a_room(name: str) -> None:
    text = program(name, '/home/dev/a "room"')
    assert 'const RUN = "/home/dev/a \\"room\\"/run"' in text
    assert f'const NUDGE = "{NUDGE}"' in text
    assert '"%' not in text
    assert program_in(text) == ('/home/dev/a "room"-hooks/hook' if "spawn(HOOK" in text else "")


def test_a_plugin_that_somebody_has_made_another_runs_nothing_of_ours() -> None:
    assert program_in('const HOOK = "a" + "b"') == program_in("") == ""


def test_an_unknown_runtime_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownRuntime, match="codx") as refused:
        load("codx")
    assert "codex" in refused.value.hint
