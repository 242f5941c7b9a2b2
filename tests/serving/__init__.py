"""Servers that speak as those of real agents do, recorded from them, and misbehave when they are told to.

    python -m tests.serving codex|opencode RECORD

What one took in, it notes in RECORD, and in RECORD.injected what began no turn; its conversation lies beside
that, and outlives it. In a text:
`[[work]]` lets a turn go on until it is stopped, `[[deaf]]` for ever, `[[noise]]` lets it print much,
`[[fail]]` lets it fail, `[[mute]]` lets the call go unanswered, `[[no]]` lets it be refused, `[[taken]]` lets
it be refused once it was taken, `[[broken]]` lets the server fail then, `[[lose]]` lets it be
taken and forgotten, `[[compact]]` lets its context be compacted first, `[[ask]]` lets it ask a person first,
`[[wonder]]` lets it ask what is no matter of yes or no.
"""
