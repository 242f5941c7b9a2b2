"""Errors say what to do next, wherever they are seen."""

import traceback

from postroom.errors import NoIdentity, PostroomError, UnknownAgent


def test_a_traceback_shows_the_hint():
    assert traceback.format_exception(NoIdentity())[-1].startswith("Say who you are")
    text = "".join(traceback.format_exception(UnknownAgent("there is no agent 'x'", hint="Join first.")))
    assert text.endswith("there is no agent 'x'\nJoin first.\n")


def test_an_error_without_a_hint_has_no_empty_line():
    assert "".join(traceback.format_exception(PostroomError("broken"))).endswith("broken\n")
    assert not hasattr(PostroomError("broken"), "__notes__")
