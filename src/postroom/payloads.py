"""The payloads of the built-in types, as classes: `mail.payload_as(Dispatch).task_id`.

`payload_type` declares a dataclass of yours to be the payload of a type of your own, and `rule` says more
about one of its fields.
"""

from postroom.model.payload import payload_type, rule
from postroom.protocol.payloads.continuity import Checkpoint, Handoff, HandoffParty
from postroom.protocol.payloads.people import AgentMessage, HumanMessage, Interrupt, VoiceTranscript
from postroom.protocol.payloads.reaction import ChangesRequested, FixCiFailure, MergeConflict
from postroom.protocol.payloads.runtime import System, ToolCall, ToolResult
from postroom.protocol.payloads.talk import Coordination, Discovery, Note, Request, Response, Status
from postroom.protocol.payloads.work import (
    Assign,
    DecisionGate,
    Dispatch,
    Escalation,
    HealthCheck,
    Merged,
    MergeFailed,
    MergeReady,
    WorkerDone,
)

__all__ = [
    "AgentMessage",
    "Assign",
    "ChangesRequested",
    "Checkpoint",
    "Coordination",
    "DecisionGate",
    "Discovery",
    "Dispatch",
    "Escalation",
    "FixCiFailure",
    "Handoff",
    "HandoffParty",
    "HealthCheck",
    "HumanMessage",
    "Interrupt",
    "MergeConflict",
    "MergeFailed",
    "MergeReady",
    "Merged",
    "Note",
    "Request",
    "Response",
    "Status",
    "System",
    "ToolCall",
    "ToolResult",
    "VoiceTranscript",
    "WorkerDone",
    "payload_type",
    "rule",
]
