"""Aider (0.86.2): it runs no hooks and reads no files of ours, so nothing can be shown to its model.

It can send, as any program can. What is for it waits until somebody takes it, or a terminal types it.
"""

from postroom.runtimes.contract import Runtime
from postroom.runtimes.shape import beat, nothing

RUNTIME = Runtime(
    name="aider",
    title="Aider",
    points=(),
    read=beat,
    say=nothing,
    programs=("aider",),
    remark="It has no way in but its terminal: it can send, and its mail waits.",
)
