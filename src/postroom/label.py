"""Labelled steps: the places where a process may die, named so that a test can make it die exactly there."""

armed = False  # asked first where every call is felt


def here(step: str) -> None:
    """Do nothing. Crash tests replace this with a function that kills the process at one step, and arm it."""
