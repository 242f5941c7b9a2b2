"""What happens to mail as spans of OpenTelemetry, by its own exporter (`postroom[otel]`, the setting `otel`).

They are made of the room's events, so sending and hooks pay nothing for them, and what happened while no
daemon ran is told, too. How far it got is noted after each page that the other end took: what it did not take
is told again. A span's ids come from what it tells of: told twice, it is the same span.
"""

import hashlib
import importlib
import importlib.util
import os
import threading
from collections import deque
from typing import Any, NamedTuple

from postroom import __version__, extra, host
from postroom.bell.contract import Waiter
from postroom.daemon import log
from postroom.errors import PostroomError
from postroom.model import trace
from postroom.model.message import Delivery, Event, Json, Message
from postroom.model.trace import Trace
from postroom.room.local import LocalRoom
from postroom.room.unit import EVERYONE

_SWEEP = 5.0  # seconds after which is told what the daemon did, though no mail went
_AGAIN = 30.0  # seconds after which is tried again what the other end did not take
_PAGE = 200
_MOST = 2000  # operations of the daemon that are kept until they are told
_FAILED = ("bounced", "expired", "dead")


class Operation(NamedTuple):
    """Something the daemon was asked for over HTTP."""

    name: str
    method: str
    route: str
    status: int
    began: int  # in nanoseconds, as is the next
    ended: int
    parent: Trace | None


class Told(NamedTuple):
    """One span, before the library has it."""

    name: str
    kind: str
    at: Trace
    parent: Trace | None
    began: int
    ended: int
    facts: Json
    failed: str = ""


def _is_installed() -> bool:
    """Whether the library is there; without loading it."""
    try:
        return importlib.util.find_spec("opentelemetry.sdk") is not None
    except ImportError:
        return False


class Spans:
    """A thread of its own; `exporter` is that of the library, unless another is given."""

    def __init__(self, room: LocalRoom, exporter: Any = None) -> None:
        self._room, self._exporter = room, exporter
        self._operations: deque[Operation] = deque(maxlen=_MOST)
        self._ends = threading.Event()
        self._is_late = False  # whether the last was not taken
        self._path = os.path.join(room.home, "spans.cursor")
        self._cursor = self._read()
        self.problem = ""  # why none are told
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)

    def start(self) -> None:
        if not _is_installed():
            self.problem = extra.hint("otel")
        self._thread.start()

    def note(self, *operation: Any) -> None:
        """One `Operation`; from any thread."""
        self._operations.append(Operation(*operation))

    def stop(self, seconds: float = 0.5) -> None:
        """Tell what there is, for so long at most: the rest is told by the next."""
        self._ends.set()
        self._room.bell.ring((EVERYONE,))
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            made = _Library(self._room, self._exporter)
        except ImportError as exc:
            self.problem = extra.hint("otel")
            log.warn("spans are not told", error=exc, hint=self.problem)
            return
        waiter = self._room.bell.waiter(EVERYONE)
        try:
            self._tell(made, waiter)
        except Exception as exc:  # it must not take the daemon with it
            log.fail("spans failed", error=exc)
        finally:
            waiter.close()
            made.close()

    def _tell(self, made: "_Library", waiter: Waiter) -> None:
        cursor, own = self._cursor, list[Told]()
        while True:
            over = self._ends.is_set()
            own += [_of_operation(self._operations.popleft()) for _ in range(len(self._operations))]
            told, after = self._next(cursor)
            if (own or told) and (why := made.export(own + told)):
                self._put_off(why)
                own = own[-_MOST:]
                if over or self._ends.wait(_AGAIN):
                    return
                continue
            if own or told:
                self._is_late, own = False, []
            if after != cursor:
                cursor = after
                host.replace(self._path, cursor.encode())
            elif over:
                return
            elif not waiter.wait(_SWEEP):
                waiter.renew()

    def _next(self, cursor: str) -> tuple[list[Told], str]:
        """What is to be told, and up to where that goes."""
        try:
            look = self._room.store.look()
            page = look.events(cursor, _PAGE)
            found = [told for event in page if (told := self._of(event)) is not None]
            return found, look.cursor(page[-1]) if page else cursor
        except PostroomError as exc:
            self._put_off(str(exc))
            return [], cursor

    def _put_off(self, why: str) -> None:
        """Told when it begins: it may last for days, and is tried again all the time."""
        if not self._is_late:
            log.warn("spans are told later", error=why)
        self._is_late = True

    def _of(self, event: Event) -> Told | None:
        seq, look = event.refs.get("seq"), self._room.store.look()
        message = event.message or (look.message_at(seq) if seq is not None else None)
        if message is None or not trace.of(message).sampled:
            return None
        if event.type == "message.sent":
            return _sent(message)
        mail = look.mail(message.seq, event.party)
        return _moved(event, message, mail.delivery) if mail else None

    def _read(self) -> str:
        """Where it had got; who begins now tells of what happens from now on."""
        try:
            with open(self._path, encoding="ascii") as file:
                return file.read(40)
        except (OSError, ValueError):
            return self._room.store.look().last_cursor()


def _facts(name: str, kind: str, message: Message) -> Json:
    """Of a message nothing that was written: who, where to, which, and of what kind."""
    return {
        "messaging.system": "postroom",
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": message.to,
        "messaging.message.id": message.id,
        "messaging.message.conversation_id": message.thread,
        "postroom.project": message.project,
        "postroom.sender": message.sender,
        "postroom.type": message.type,
        "postroom.priority": message.priority.name.lower(),
        "postroom.verified": message.verified,
    }


def _sent(message: Message) -> Told:
    at = _nanoseconds(message.created_at)
    facts = _facts("send", "send", message)
    return Told(f"send {message.to}", "PRODUCER", trace.of(message), trace.before(message), at, at, facts)


def _moved(event: Event, message: Message, delivery: Delivery) -> Told | None:
    """A step on the ladder, from the one before it on."""
    stored, offered, seen = delivery.stored_at, delivery.offered_at, delivery.seen_at
    steps = {
        "delivery.offered": ("offer", "receive", stored),
        "delivery.seen": ("see", "process", offered or stored),
        "delivery.acked": ("ack", "settle", seen or offered or stored),
        **{f"delivery.{state}": (state, "settle", stored) for state in _FAILED},
    }
    if event.type not in steps:
        return None
    name, kind, since = steps[event.type]
    parent, payload = trace.of(message), event.payload
    said = {
        "postroom.recipient": delivery.recipient, "postroom.route": payload.get("route") or delivery.route,
        "postroom.attempt": payload.get("n"), "postroom.evidence": payload.get("evidence"),
        "postroom.reason": payload.get("reason"),
    }  # fmt: skip
    facts = _facts(name, kind, message) | {key: value for key, value in said.items() if value is not None}
    failed = str(payload.get("reason") or name) if name in _FAILED else ""
    ended = _nanoseconds(event.timestamp)
    return Told(
        f"{name} {delivery.recipient}", "CONSUMER", Trace(parent.id, _span(event.id)), parent,
        min(_nanoseconds(since), ended), ended, facts, failed,
    )  # fmt: skip


def _of_operation(one: Operation) -> Told:
    own = os.urandom(8).hex()
    at = Trace(one.parent.id if one.parent else os.urandom(16).hex(), own)
    facts = {
        "http.request.method": one.method, "http.route": one.route, "http.response.status_code": one.status,
    }  # fmt: skip
    failed = f"{one.status}" if one.status >= 500 else ""
    return Told(f"{one.method} {one.route}", "SERVER", at, one.parent, one.began, one.ended, facts, failed)


def _span(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()


def _nanoseconds(at: int) -> int:
    return at * 1_000_000


class _Library:
    """OpenTelemetry's own classes; loaded only where spans are told."""

    def __init__(self, room: LocalRoom, exporter: Any) -> None:
        load = importlib.import_module
        self._api: Any = load("opentelemetry.trace")
        self._sdk: Any = load("opentelemetry.sdk.trace")
        export: Any = load("opentelemetry.sdk.trace.export")
        resources: Any = load("opentelemetry.sdk.resources")
        scope: Any = load("opentelemetry.sdk.util.instrumentation")
        if exporter is None:
            exporter = load("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
        self._exporter, self._success = exporter, export.SpanExportResult.SUCCESS
        about = {"service.name": os.environ.get("OTEL_SERVICE_NAME") or "postroom"}
        self._resource = resources.Resource.create(about | {"service.version": __version__})
        self._scope = scope.InstrumentationScope("postroom", __version__)

    def export(self, told: list[Told]) -> str:
        """Why the other end has not taken them; empty: it has."""
        try:
            found = self._exporter.export([self._made(one) for one in told])
        except Exception as exc:  # whatever an exporter raises: it is tried again
            return repr(exc)
        return "" if found is self._success else "the receiver did not take them"

    def close(self) -> None:
        self._exporter.shutdown()

    def _made(self, one: Told) -> Any:
        status = (
            self._api.Status(self._api.StatusCode.ERROR, one.failed) if one.failed else self._api.Status()
        )
        return self._sdk.ReadableSpan(
            name=one.name, context=self._context(one.at, remote=False),
            parent=self._context(one.parent, remote=True) if one.parent else None, resource=self._resource,
            attributes=one.facts, kind=self._api.SpanKind[one.kind], status=status, start_time=one.began,
            end_time=one.ended, instrumentation_scope=self._scope,
        )  # fmt: skip

    def _context(self, at: Trace, *, remote: bool) -> Any:
        flags = self._api.TraceFlags(self._api.TraceFlags.SAMPLED)
        return self._api.SpanContext(int(at.id, 16), int(at.span, 16), remote, flags)
