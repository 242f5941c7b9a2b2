"""Everything a room can do over the network, in one table.

REST, the OpenAPI document, the WebSocket's calls and `RemoteRoom` all come from it.

An operation that a method of `Room` has bears its name. Its parameters are one flat set of names, wherever
they stand in a request.
"""

from typing import NamedTuple

from postroom.protocol.shape import (
    MAYBE,
    MOMENT,
    NUMBER,
    RUNGS,
    STATES,
    TEXT,
    YES,
    Json,
    document,
    listed,
    ref,
)

MAIL, OBSERVE, OPERATE = "mail", "observe", "operate"
SCOPES = {
    MAIL: "its own mailbox: write, read, acknowledge, ask, decide what it is asked",
    OBSERVE: "see the whole room, whoever it is between",
    OPERATE: "interrupt agents, let them go on, type commands, see to dead letters",
}
PREFIX = "/api/v1"
LONGEST_WAIT = 3600.0  # seconds in one request

PATH, QUERY, BODY = "path", "query", "body"


class Parameter(NamedTuple):
    """Something that is said with a request."""

    name: str
    where: str
    schema: Json
    about: str
    required: bool = False


class Operation(NamedTuple):
    """One thing that can be asked for."""

    name: str
    method: str
    path: str
    about: str
    scope: str
    parameters: tuple[Parameter, ...]
    result: Json
    waits: bool = False  # the answer may take as long as its `timeout`
    media_type: str = "application/json"

    @property
    def body(self) -> tuple[Parameter, ...]:
        return tuple(one for one in self.parameters if one.where == BODY)

    def find(self, name: str) -> Parameter | None:
        return next((one for one in self.parameters if one.name == name), None)


def _path(name: str, about: str) -> Parameter:
    return Parameter(name, PATH, {"type": "string", "minLength": 1}, about, required=True)


def _query(name: str, schema: Json, about: str, *, required: bool = False) -> Parameter:
    return Parameter(name, QUERY, schema, about, required)


def _body(name: str, schema: Json, about: str, *, required: bool = False) -> Parameter:
    return Parameter(name, BODY, schema, about, required)


_REF = _path("ref", "a message's id, or its last 8 digits")
_ADDRESS = _path("address", "backend, project/backend or human:ana")
_TOPIC = _path("name", "a topic's name")
_PROJECT = _query("project", TEXT, "the project that bare names belong to")
_LIMIT = _query("limit", {"type": "integer", "minimum": 1, "maximum": 500}, "at most so many")
_SEQ: Json = {"type": "integer", "minimum": 0, "maximum": (1 << 63) - 1}  # as the store has it
_SINCE = _query("since", TEXT, "a moment (2026-01-31T12:00:00Z), or milliseconds since the epoch")
_SECONDS: Json = {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT}
_TIMEOUT = _query("timeout", _SECONDS, "how many seconds to wait")
_WHEN: Json = {"type": ["number", "string", "null"]}
_OBJECT: Json = {"type": ["object", "null"]}
_AGENT = _body("agent", MAYBE, "for whom: the caller, or a child of it")
_LISTENER = _body("listener", TEXT, "as the stream of `/inbox/listen` said at first", required=True)
_CLAIM = {"id": TEXT, "claim": TEXT}
_ENCLOSURE = document({"name": TEXT, "content": {"type": "string", "description": "base64"}})

_SAYING = (
    _body("type", TEXT, "what kind of message it is (`postroom types`)"),
    _body("payload", _OBJECT, "what the type says it holds"),
    _body("subject", TEXT, "one line"),
    _body("priority", TEXT, "urgent, high, normal or low"),
    _body("requires_ack", YES, "whether it must be acknowledged"),
    _body("after", _WHEN, "not before: seconds from now, or a moment"),
    _body("expires", _WHEN, "not later than: seconds from now, or a moment"),
    _body("key", MAYBE, "sent again with the same key, it is the same message"),
    _body("metadata", _OBJECT, "for the sender's own use"),
    _body("class", TEXT, "turn, tool or interrupt"),
    _body("format", MAYBE, "plain or markdown"),
    _body("attachments", listed(_ENCLOSURE), "files that go with it"),
)
_SENDING = (
    *_SAYING,
    _body("thread", MAYBE, "any message of the conversation to go on with"),
    _body("reply_to", MAYBE, "the message it answers"),
    _body("correlation", MAYBE, "what a request and its answer have in common"),
)
_SENDER = _body("sender", MAYBE, "who writes: the caller, or a child of it")
_SIEVE = (
    _query("sender", TEXT, "who wrote it"),
    _query("to", TEXT, "whom it reached, or the group or topic it was written to"),
    _query("type", TEXT, "its type"),
    _query("state", {"type": "string", "enum": STATES}, "of any of its deliveries"),
    _query("thread", TEXT, "any message of its conversation"),
    _query("with", TEXT, "who wrote it or got it"),
    _query("topic", TEXT, "the topic it was written to"),
    _query("project", TEXT, "only of this project"),
)
_BEGUN = _query("chars", {"type": "integer", "minimum": 0, "maximum": 1_000_000},
                "so much of each body, and no payload; `body_chars` says how long it is")  # fmt: skip
_CURSOR = _query("after", TEXT, "the cursor of the last event that is known")
_PAGE = document({"messages": listed(ref("Posted")), "next": {"type": ["integer", "null"]}})
_DELIVERIES = document({"deliveries": listed(ref("Delivery"))})
_COUNT: Json = {"type": "object", "additionalProperties": NUMBER}

OPERATIONS: tuple[Operation, ...] = (
    # reading
    Operation("me", "GET", "/me", "Who calls, and what it may do.", MAIL, (), document(
        {"agent": MAYBE, "id": MAYBE, "kind": TEXT, "scopes": listed(TEXT), "verified": TEXT, "project": TEXT,
         "home": MAYBE})),
    Operation("projects", "GET", "/projects", "The scopes of names.", MAIL, (),
              document({"projects": listed(ref("Project"))})),
    Operation("agents", "GET", "/agents", "Who is here, what waits for each, and how each is reached.", MAIL, (
        _query("project", TEXT, "only those of this project"), _query("everyone", YES, "also those who left")),
        document({"agents": listed(ref("Status"))})),
    Operation("agent", "GET", "/agents/{address}", "One of them.", MAIL, (_ADDRESS, _PROJECT), ref("Status")),
    Operation("screen", "GET", "/agents/{address}/screen", "What an agent's terminal shows.", OBSERVE, (
        _ADDRESS, _PROJECT, _query("lines", {"type": "integer", "minimum": 0, "maximum": 10000},
                                   "so many lines that have scrolled away, too")),
        document({"agent": TEXT, "text": TEXT})),
    Operation("messages", "GET", "/messages",
              "What was written, newest first; who may not observe sees its own.", MAIL, (
        *_SIEVE, _query("q", TEXT, "words to find"), _LIMIT,
        _query("before", _SEQ, "the `seq` of the last one of the page before"),
        _query("after", _SEQ, "the `seq` of the newest one that is known: those next to it"), _BEGUN), _PAGE),
    Operation("search", "GET", "/search", "Messages that say something, newest first.", MAIL, (
        _query("q", TEXT, 'words, "a phrase", begin*, -without, this OR that', required=True), *_SIEVE,
        _SINCE, _query("until", TEXT, "a moment"), _LIMIT,
        _query("before", _SEQ, "the `seq` of the last one of the page before")), _PAGE),
    Operation("message", "GET", "/messages/{ref}", "One message, and what became of it.", MAIL, (_REF,),
              ref("Posted")),
    Operation("receipts", "GET", "/messages/{ref}/receipts", "How far it got, and the evidence.", MAIL, (_REF,),
              ref("Receipts")),
    Operation("thread", "GET", "/messages/{ref}/thread", "The whole conversation, oldest first.", MAIL, (_REF,),
              document({"thread": TEXT, "messages": listed(ref("Posted"))})),
    Operation("timeline", "GET", "/messages/{ref}/timeline", "The events about it, in order.", MAIL, (_REF,),
              document({"message": ref("Message"), "events": listed(ref("Event"))})),
    Operation("attachments", "GET", "/messages/{ref}/attachments", "What came with it.", MAIL, (_REF,),
              document({"attachments": listed(ref("Attachment"))})),
    Operation("attachment", "GET", "/messages/{ref}/attachments/{n}", "The content of one, as it is.", MAIL,
              (_REF, _path("n", "its number, from 1")), {"type": "string", "format": "binary"},
              media_type="application/octet-stream"),
    Operation("until", "GET", "/messages/{ref}/until", "Wait until every delivery reached a rung, or ended.", MAIL,
              (_REF, _query("rung", {"type": "string", "enum": RUNGS}, "how far", required=True), _TIMEOUT),
              document({"reached": YES, "deliveries": listed(ref("Delivery"))}), waits=True),
    Operation("peek", "GET", "/inbox", "What waits for the caller; looking marks nothing.", MAIL,
              (_query("agent", TEXT, "a child of the caller"), _LIMIT),
              document({"messages": listed(ref("Mail"))})),
    Operation("wait", "GET", "/inbox/wait", "The same, once there is anything.", MAIL,
              (_query("agent", TEXT, "a child of the caller"), _LIMIT, _TIMEOUT),
              document({"messages": listed(ref("Mail"))}), waits=True),
    Operation("wait_for_reply", "GET", "/inbox/reply",
              "Wait for the reply to what the caller sent earlier; it marks nothing.", MAIL,
              (_query("ref", TEXT, "the message's id, or the correlation that it was sent with", required=True),
               _query("agent", TEXT, "a child of the caller"), _TIMEOUT), ref("Mail"), waits=True),
    Operation("requests", "GET", "/inbox/requests",
              "What the caller was asked, and has neither answered nor acknowledged; the oldest first.", MAIL,
              (_query("agent", TEXT, "a child of the caller"), _LIMIT, _BEGUN),
              document({"requests": listed(ref("Posted"))})),
    Operation("held", "GET", "/inbox/held", "What is held for the caller's own sake, and why.", MAIL,
              (_query("agent", TEXT, "a child of the caller"),), document({"held": listed(ref("Held"))})),
    Operation("sent", "GET", "/sent", "What became of what the caller sent, newest first.", MAIL,
              (_query("agent", TEXT, "a child of the caller"), _LIMIT),
              document({"messages": listed(ref("Posted"))})),
    Operation("threads", "GET", "/threads", "The conversations that the caller has a part in.", MAIL,
              (_query("agent", TEXT, "a child of the caller"), _LIMIT),
              document({"threads": listed(ref("Thread"))})),
    Operation("stats", "GET", "/stats", "Who writes to whom, and how soon it is answered.", OBSERVE, (_SINCE,),
              ref("Stats")),
    Operation("events", "GET", "/events", "Every change after a cursor, in order; or the latest before one.", MAIL,
              (_CURSOR, _query("before", TEXT, "the cursor before which to look back; `end`: the latest"), _query("agent", TEXT, "only what is about it"), _LIMIT),
              document({"events": listed(ref("Event")), "cursor": TEXT})),
    Operation("gates", "GET", "/gates", "What waits for a decision, the most pressing first.", MAIL, (),
              document({"gates": listed(ref("Gate"))})),
    Operation("gate", "GET", "/gates/{ref}", "One of them, whatever became of it.", MAIL, (_REF,), ref("Gate")),
    Operation("groups", "GET", "/groups", "Who has which role or capability.", MAIL, (_PROJECT,),
              document({"groups": {"type": "object", "additionalProperties": listed(ref("Agent"))}})),
    Operation("topics", "GET", "/topics", "The topics of the project.", MAIL, (_PROJECT,),
              document({"topics": listed(ref("Topic"))})),
    Operation("topic_history", "GET", "/topics/{name}", "A topic: what was written to it, and who follows.", MAIL,
              (_TOPIC, _PROJECT, _LIMIT),
              document({"topic": TEXT, "messages": listed(ref("Message")), "subscribers": listed(ref("Agent"))})),
    Operation("subscribers", "GET", "/topics/{name}/subscribers", "Who follows a topic.", MAIL, (_TOPIC, _PROJECT),
              document({"subscribers": listed(ref("Agent"))})),
    Operation("dead", "GET", "/dead", "What could not be delivered, and what is uncertain.", OBSERVE, (),
              document({"dead": listed(ref("Mail")), "uncertain": listed(ref("Mail"))})),
    Operation("may_write", "GET", "/routes/check", "Whom somebody would reach with such a message.", MAIL,
              (_query("sender", TEXT, "who would write", required=True),
               _query("to", TEXT, "to whom", required=True), _query("type", TEXT, "of what type"), _PROJECT),
              document({"recipients": listed(TEXT)})),
    Operation("routes", "GET", "/routes", "Who may write to whom, as the config declares it.", MAIL, (),
              document({"routes": listed(document({"number": NUMBER, "rule": TEXT, "from": TEXT, "to": TEXT,
                                                   "type": TEXT})), "otherwise": TEXT})),
    Operation("metrics", "GET", "/metrics", "How the room does: counts, times by route, failures.", OBSERVE,
              (_query("hours", {"type": "integer", "minimum": 1, "maximum": 744}, "of the last so many hours"),),
              ref("Metrics")),
    Operation("graph", "GET", "/graph", "Who talks to whom, and how much.", OBSERVE, (_SINCE,), document(
        {"nodes": listed(document({"address": TEXT, "kind": TEXT, "messages": NUMBER})),
         "edges": listed(document({"sender": TEXT, "recipient": TEXT, "messages": NUMBER}))})),
    Operation("status", "GET", "/status", "The room and its daemon.", OBSERVE, (), document(
        {"version": TEXT, "room": TEXT, "project": TEXT, "counts": _COUNT, "daemon": ref("Daemon"),
         "now": MOMENT})),
    Operation("types", "GET", "/types", "The types of messages, and what each must hold.", MAIL, (),
              document({"types": listed({"type": "object"}), "aliases": {"type": "object"}})),
    # writing
    Operation("send", "POST", "/messages", "Store a message; durable when this answers.", MAIL,
              (_body("to", TEXT, "an address; none is needed for an escalation, which goes up, and for a broadcast"),
               _body("body", TEXT, "what is said"), *_SENDING, _SENDER,
               _body("confirm", YES, "it may reach very many"), _PROJECT), ref("Sent")),
    Operation("ask", "POST", "/ask", "Send a request and wait for its answer.", MAIL,
              (_body("to", TEXT, "an address", required=True), _body("body", TEXT, "the question", required=True),
               *_SENDING, _SENDER, _body("timeout", _SECONDS, "how many seconds to wait (30)"), _PROJECT),
              ref("Mail"), waits=True),
    Operation("reply", "POST", "/messages/{ref}/reply", "Answer in the same thread, and acknowledge.", MAIL,
              (_REF, _body("body", TEXT, "the answer", required=True), *_SAYING, _AGENT), ref("Sent")),
    Operation("ack", "POST", "/messages/{ref}/ack", "The caller's own word that it has it.", MAIL, (_REF, _AGENT),
              ref("Delivery")),
    Operation("nack", "POST", "/messages/{ref}/nack",
              "Refuse it: its sender gets one bounce; or refuse it for now, and it comes again.", MAIL,
              (_REF, _body("reason", TEXT, "why", required=True),
               _body("retry_after", {"type": ["number", "null"]}, "seconds until it comes again; else it does not"),
               _body("attempts", {"type": ["integer", "null"]}, "how often it is tried in all (3)"),
               _body("backoff", {"type": ["number", "null"]}, "how many times longer each pause is (2)"), _AGENT),
              ref("Delivery")),
    Operation("withdraw", "POST", "/messages/{ref}/withdraw", "Take back what nobody has seen yet.", MAIL,
              (_REF, _SENDER), _DELIVERIES),
    Operation("forward", "POST", "/messages/{ref}/forward", "Pass it on, quoted, in a thread of its own.", MAIL,
              (_REF, _body("to", TEXT, "an address", required=True), _body("note", TEXT, "a word to it"),
               *_SENDING, _SENDER, _PROJECT), ref("Sent")),
    Operation("decide", "POST", "/messages/{ref}/decide", "Answer a gate, once.", MAIL,
              (_REF, _body("option", TEXT, "one of its options", required=True),
               _body("note", TEXT, "why, or under what condition"), _AGENT), ref("Sent")),
    Operation("take", "POST", "/inbox/take",
              "Claim the next message, or that one: settle it within the lease, or it is offered again.", MAIL,
              (_AGENT, _body("id", MAYBE, "a message's id"),
               _body("timeout", _SECONDS, "how many seconds to wait for one (0)")),
              document({"mail": {"oneOf": [ref("Mail"), {"type": "null"}]}}), waits=True),
    Operation("settle", "POST", "/inbox/settle", "What was taken has been seen.", MAIL,
              (_body("id", TEXT, "the message", required=True),
               _body("claim", TEXT, "what `take` gave with it", required=True), _AGENT), ref("Delivery")),
    Operation("give_up", "POST", "/inbox/give_up", "What was taken was not shown: it is offered again.", MAIL,
              (_body("id", TEXT, "the message", required=True),
               _body("claim", TEXT, "what `take` gave with it", required=True), _AGENT), ref("Delivery")),
    Operation("heard", "POST", "/inbox/heard", "What a listener was given has been seen: it gets the next one.", MAIL,
              (_LISTENER,), document({})),
    Operation("unlisten", "POST", "/inbox/unlisten", "A listener goes: what it has not called heard is offered again.",
              MAIL, (_LISTENER,), document({})),
    Operation("take_bundle", "POST", "/inbox/bundle", "Claim as many as one text for a model holds.", MAIL,
              (_AGENT, _body("budget", {"type": "integer", "minimum": 1, "maximum": 1_000_000},
                             "how many characters the text may have")),
              document({"bundle": {"oneOf": [ref("Bundle"), {"type": "null"}]}})),
    Operation("settle_all", "POST", "/inbox/settle_all", "All that was taken together has been seen.", MAIL,
              (_body("claims", listed(document(_CLAIM, shown=NUMBER)), "what was taken", required=True), _AGENT),
              document({"settled": NUMBER})),
    Operation("frame", "POST", "/inbox/frame", "One text for a model with these messages; marks nothing.", MAIL,
              (_body("ids", listed(TEXT), "messages that were sent to the caller", required=True),
               _body("budget", {"type": "integer", "minimum": 1, "maximum": 1_000_000}, "its characters"),
               _body("waiting", listed(TEXT), "handles that it names, too"), _AGENT), ref("Frame")),
    Operation("join", "POST", "/agents", "Give an agent or a person an address; who may not operate, a child of its own.", MAIL,
              (_body("name", TEXT, "its name, or human:NAME", required=True), _body("role", TEXT, "what it is"),
               _body("capabilities", listed(TEXT), "what it can do"),
               _body("description", TEXT, "when to write to it"), _body("supervisor", TEXT, "who stands above"),
               _PROJECT), ref("Agent")),
    Operation("leave", "POST", "/agents/{address}/leave", "Mark it as gone; its mail stays.", MAIL,
              (_ADDRESS, _PROJECT), ref("Agent")),
    Operation("rename", "POST", "/agents/{address}/rename", "Give it another name; its mail stays.", MAIL,
              (_ADDRESS, _body("name", TEXT, "the new one", required=True), _PROJECT), ref("Agent")),
    Operation("idle", "POST", "/agents/{address}/idle", "It has nothing more to do: who waits for it is told.", MAIL,
              (_ADDRESS, _PROJECT), document({"told": listed(ref("Message"))})),
    Operation("manners", "POST", "/agents/{address}/manners", "How it wants to be left alone, from now on.", MAIL,
              (_ADDRESS, _body("mute", {"type": ["boolean", "number", "string"]}, "seconds, a moment, true, false"),
               _body("hours", MAYBE, "quiet every day: 22:00-07:00"), _body("zone", TEXT, "Europe/Berlin"),
               _body("digest", {"type": ["number", "null"]}, "seconds to gather small messages"), _PROJECT),
              ref("Manners")),
    Operation("subscribe", "PUT", "/topics/{name}/subscription", "Follow a topic from now on.", MAIL,
              (_TOPIC, _PROJECT, _AGENT), document({"changed": YES})),
    Operation("unsubscribe", "DELETE", "/topics/{name}/subscription", "Follow it no longer.", MAIL,
              (_TOPIC, _PROJECT, _query("agent", TEXT, "a child of the caller")), document({"changed": YES})),
    # steering
    Operation("interrupt", "POST", "/agents/{address}/interrupt",
              "Stop, pause or cancel what it does, and say what was proven; its supervisor may, too.", MAIL,
              (_ADDRESS, _body("kind", {"type": "string", "enum": ["stop", "pause", "cancel"]}, "stop"),
               _body("reason", TEXT, "why"), _PROJECT),
              document({"agent": TEXT, "kind": TEXT, "by": TEXT, "proven": YES, "words": TEXT, "message": MAYBE})),
    Operation("resume", "POST", "/agents/{address}/resume", "Let a paused agent have its mail again.", MAIL,
              (_ADDRESS, _PROJECT),
              document({"agent": TEXT, "by": TEXT, "was_paused": YES, "released": NUMBER})),
    Operation("command", "POST", "/agents/{address}/command", "Type an operator's command into its terminal.",
              OPERATE, (_ADDRESS, _body("text", TEXT, "one line", required=True), _PROJECT),
              document({"agent": TEXT, "result": TEXT, "words": TEXT, "reason": TEXT})),
    Operation("link", "POST", "/link", "A link to the page that logs its caller in, once, within a minute.", OPERATE,
              (), document({"path": TEXT, "person": TEXT})),
    Operation("retry", "POST", "/dead/{ref}/retry", "Put what is dead back into the queue.", OPERATE,
              (_REF, _body("to", MAYBE, "only for that recipient")), _DELIVERIES),
    Operation("purge", "DELETE", "/dead/{ref}", "Remove a dead message for good.", OPERATE, (_REF,),
              document({"purged": TEXT})),
)  # fmt: skip

BY_NAME = {one.name: one for one in OPERATIONS}

# Methods of `Room` that are made of others, or need nobody else.
COMPOSED = {"listen": ("heard", "unlisten"), "spill": ("message",), "close": ()}
