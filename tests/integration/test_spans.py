"""Mail as spans of OpenTelemetry: by its real SDK, and by its real exporter to a receiver on this machine."""

import gzip
import http.server
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from postroom.daemon import spans
from postroom.daemon.spans import Spans
from postroom.model import trace
from postroom.model.trace import parse
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.conftest import UNLIMITED
from tests.integration.test_dashboard import House
from tests.process import ROOT, until
from tests.served import served

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


@contextmanager
def telling(room: LocalRoom, exporter: Any) -> Iterator[Spans]:
    """Ends when all that happened was told."""
    found = Spans(room, exporter)
    found.start()
    try:
        yield found
    finally:
        found.stop(30)


def told(exporter: InMemorySpanExporter) -> dict[str, Any]:
    return {span.name: span for span in exporter.get_finished_spans()}


def context(span: Any) -> tuple[str, str]:
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


def parent(span: Any) -> tuple[str, str] | None:
    return span.parent and (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}")


@pytest.mark.promise("traced")
def test_a_senders_trace_goes_on_at_the_receiver(room: LocalRoom):
    exporter = InMemorySpanExporter()
    with telling(room, exporter):
        sent = room.send("builder", "a secret", subject="secret", metadata={"traceparent": PARENT})
        mail = room.take("builder")
        assert mail is not None
        room.settle(mail)
        room.ack(mail, agent="builder")
    found = told(exporter)
    assert set(found) == {"send builder", "offer builder", "see builder", "ack builder"}
    assert parent(found["send builder"]) == (TRACE, SPAN)
    own = context(found["send builder"])
    assert all(parent(found[name]) == own for name in found if name != "send builder")
    assert found["send builder"].kind is SpanKind.PRODUCER
    assert found["see builder"].kind is SpanKind.CONSUMER
    facts = found["see builder"].attributes
    assert facts["messaging.message.id"] == sent.id
    assert (facts["postroom.recipient"], facts["postroom.evidence"]) == ("builder", "agent")
    assert all(span.start_time <= span.end_time for span in found.values())
    continued = parse(mail.message.traceparent)
    assert continued is not None
    assert (continued.id, continued.span) == own
    assert "secret" not in "".join(span.to_json() for span in found.values())


def test_a_conversation_that_nobody_traces_is_a_trace_of_its_own(room: LocalRoom):
    exporter = InMemorySpanExporter()
    with telling(room, exporter):
        asked = room.send("builder", "?", type="request")
        room.reply(asked.id, "!", agent="builder")
        room.nack(room.send("builder", "no").id, "not mine", agent="builder")
    thread = asked.message.thread.replace("-", "")
    spans = exporter.get_finished_spans()
    own = [span for span in spans if context(span)[0] == thread]
    assert sorted(span.name for span in own) == ["ack builder", "send builder", "send planner"]
    [bounced] = [span for span in spans if span.name == "bounced builder"]
    assert (bounced.status.status_code, bounced.status.description) == (StatusCode.ERROR, "not mine")


class Failing(InMemorySpanExporter):
    """Takes nothing for a while."""

    failures = 2

    def export(self, spans: Any) -> SpanExportResult:
        if self.failures:
            self.failures -= 1
            if self.failures:
                raise OSError("nobody is there")
            return SpanExportResult.FAILURE
        return super().export(spans)


def test_what_the_other_end_does_not_take_is_told_again(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spans, "_AGAIN", 0.01)
    exporter, warned = Failing(), list[str]()
    monkeypatch.setattr(spans.log, "warn", lambda what, **_: warned.append(what))
    with telling(room, exporter):
        for n in range(5):
            room.send("builder", f"{n}")
        until(lambda: len(exporter.get_finished_spans()) == 5)
    assert len({context(span) for span in exporter.get_finished_spans()}) == 5
    assert warned == ["spans are told later"], "once, however often it was tried"


def test_what_happened_while_no_daemon_ran_is_told_by_the_next_and_twice_is_the_same(room: LocalRoom):
    first, second, third = InMemorySpanExporter(), InMemorySpanExporter(), InMemorySpanExporter()
    room.send("builder", "before anybody asked for spans")
    with telling(room, first):
        room.send("builder", "1")
    with open(os.path.join(room.home, "spans.cursor")) as file:
        cursor = file.read()
    room.send("builder", "meanwhile")
    with telling(room, second):
        room.send("builder", "2")
    assert [len(one.get_finished_spans()) for one in (first, second)] == [1, 2]
    with open(os.path.join(room.home, "spans.cursor"), "w") as file:
        file.write(cursor)  # as if it had been killed before it noted how far it was
    with telling(room, third):
        pass
    again = [context(span) for span in third.get_finished_spans()]
    assert again == [context(span) for span in second.get_finished_spans()]


def test_a_trace_that_is_not_sampled_is_carried_and_not_told(room: LocalRoom):
    exporter = InMemorySpanExporter()
    with telling(room, exporter):
        sent = room.send("builder", "x", metadata={"traceparent": f"00-{TRACE}-{SPAN}-00"})
    assert exporter.get_finished_spans() == ()
    assert sent.message.traceparent.startswith(f"00-{TRACE}-")
    assert sent.message.traceparent.endswith("-00")


def test_what_is_no_trace_harms_nobody(room: LocalRoom):
    exporter = InMemorySpanExporter()
    with telling(room, exporter):
        for wrong in ("x", 7, None, {"a": 1}, f"00-{'0' * 32}-{SPAN}-01"):
            room.send("builder", "x", metadata={"traceparent": wrong})
    assert len(exporter.get_finished_spans()) == 5
    assert all(span.parent is None for span in exporter.get_finished_spans())


def test_a_program_that_traces_itself_sends_within_its_trace_where_that_is_on(open_room):
    tracer = TracerProvider().get_tracer("program")
    for setting in ("on", "off"):
        room = open_room("planner", settings=UNLIMITED._replace(otel=setting))
        for name in ("planner", "builder"):
            room.join(name)
        with tracer.start_as_current_span("at work") as span:
            sent = room.send("builder", "x", metadata={"mine": 1}).message
        found = trace.before(sent)
        assert (sent.metadata or {})["mine"] == 1
        if setting == "off":
            assert found is None
        else:
            assert found is not None
            assert (found.id, found.span) == context(span)
        assert room.send("builder", "outside").message.metadata is None


@pytest.mark.parametrize("command", [["send", "builder"], ["ask", "builder", "--timeout", "0s"]])
def test_the_command_line_carries_what_its_environment_says(room: LocalRoom, command: list[str]):
    env = {"TRACEPARENT": PARENT, "TRACESTATE": "vendor=1"}
    [verb, *rest] = command
    CommandLine(room.home)(
        verb, rest[0], "x", *rest[1:], "--metadata", '{"a": 1}', "--as", "planner", env=env
    )
    [mail] = room.peek("builder")
    assert mail.message.metadata == {"a": 1, "traceparent": PARENT, "tracestate": "vendor=1"}
    for wrong in ("", "no", "00-" + "z" * 32, PARENT.upper()):
        CommandLine(room.home).ok("send", "builder", wrong or "-", "--as", "planner", stdin=b"x",
                                  env={"TRACEPARENT": wrong})  # fmt: skip
        assert room.peek("builder")[-1].message.metadata is None


def test_a_header_of_a_request_is_carried_and_the_operation_is_told(room: LocalRoom):
    exporter, header = InMemorySpanExporter(), {"traceparent": PARENT}
    with served(room) as web, telling(room, exporter) as found:
        web.desk.noted = found.note
        token = web.token("planner")
        body = {"to": "builder", "body": "x"}
        assert web.post("/messages", body, token=token, headers=header).status == 200
        assert web.post("/messages", {"to": "nobody", "body": "x"}, token=token).status == 404
        assert web.get("/inbox", token=token, headers={"traceparent": "evil"}).status == 200
    [mail] = room.peek("builder")
    assert mail.message.metadata == {"traceparent": PARENT}
    operations = [span for span in exporter.get_finished_spans() if span.kind is SpanKind.SERVER]
    said = [
        (span.name, (span.attributes or {})["http.response.status_code"], parent(span)) for span in operations
    ]
    assert said == [
        ("POST /api/v1/messages", 200, (TRACE, SPAN)),
        ("POST /api/v1/messages", 404, None),
        ("GET /api/v1/inbox", 200, None),
    ]


@pytest.mark.promise("traced")
@pytest.mark.parametrize("setting", ["off", "on"])
def test_commands_and_hooks_load_nothing_of_it(room: LocalRoom, setting: str):
    env = {**os.environ, "POSTROOM_HOME": room.home, "POSTROOM_PROJECT": "p", "POSTROOM_OTEL": setting}
    for argv in (["send", "builder", "x", "--as", "planner"], ["hook", "plain", "--as", "builder"]):
        traced = {"TRACEPARENT": PARENT} if setting == "on" else {}
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "postroom", *argv], env=env | traced, cwd=ROOT,
            capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        assert b"opentelemetry" not in done.stderr
        assert (b"postroom.model.trace" in done.stderr) is (setting == "on" and argv[0] == "send")


class Receiver(http.server.BaseHTTPRequestHandler):
    """Whatever takes OTLP over HTTP."""

    heard: list[Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        match self.headers.get("content-encoding"):
            case "gzip":
                body = gzip.decompress(body)
            case "deflate":
                body = zlib.decompress(body)
        found = ExportTraceServiceRequest.FromString(body)
        for one in found.resource_spans:
            service = {each.key: each.value.string_value for each in one.resource.attributes}["service.name"]
            self.heard += [(service, span) for scope in one.scope_spans for span in scope.spans]
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[Any]]]:
    heard: list[Any] = []
    handler = type("Own", (Receiver,), {"heard": heard})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", heard
        server.shutdown()


@pytest.mark.promise("traced")
def test_a_real_daemon_tells_a_real_receiver(home: str, receiver: tuple[str, list[Any]]):
    url, heard = receiver
    house = House(home)
    house.extra = {"POSTROOM_OTEL": "on", "OTEL_EXPORTER_OTLP_ENDPOINT": url, "TRACEPARENT": PARENT}
    try:
        assert house("join", "builder").code == 0
        assert house("up").code == 0
        until(lambda: b"began" in _log(home))
        house("send", "builder", "x", "--as", "human:ana")
        assert house("read", "--as", "builder").code == 0
        until(lambda: {"send builder", "see builder"} <= {span.name for _, span in heard})
    finally:
        house.end()
    assert {service for service, _ in heard} == {"postroom"}
    assert {span.trace_id.hex() for _, span in heard} == {TRACE}
    [sent] = [span for _, span in heard if span.name == "send builder"]
    assert sent.parent_span_id.hex() == SPAN


def _log(home: str) -> bytes:
    from postroom.daemon.place import log_path

    with open(log_path(home), "rb") as file:
        return file.read()


def test_a_daemon_without_the_extra_says_what_to_install(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    notes: list[dict[str, Any]] = []
    monkeypatch.setattr(spans.log, "warn", lambda what, **facts: notes.append({"what": what, **facts}))
    monkeypatch.setattr(spans.importlib, "import_module", _missing)
    found = Spans(room)
    found.start()
    found.stop(30)
    assert notes[0]["what"] == "spans are not told"
    assert "otel" in notes[0]["hint"]
    assert found.problem == notes[0]["hint"]


def _missing(name: str) -> Any:
    raise ImportError(name)
