"""Prompts for common work, which a person picks in the client."""

from typing import NamedTuple


class Prompt(NamedTuple):
    """One of them; `text` has a place for each argument."""

    name: str
    about: str
    arguments: tuple[tuple[str, str, bool], ...]  # name, meaning, whether it must be given
    text: str


PROMPTS = (
    Prompt(
        "hand_over", "Hand your work over to somebody else.",
        (("to", "who takes over", True),),
        "Hand your current work over to {to} with the tool `handoff`. Look first at what you have changed and"
        " what is left. Say what is to be done now (`needed`), how things stand (`status`), which files it is"
        " about, and by what one knows that it is done (`acceptance`); also what must not be done."
        " They know nothing of this conversation. Then stop working on it.",
    ),
    Prompt(
        "review_request", "Ask somebody to review a change.",
        (("to", "who reviews; a name, or one:@reviewers", True), ("what", "a branch, commit or file", False)),
        "Ask {to} for a review of {what} with the tool `send`, type `request`. Say in one message what was"
        " changed and why, where it is, how it was tested, and what you are unsure of. Go on with other work;"
        " the answer comes to your inbox.",
    ),
    Prompt(
        "stand_up", "Tell the others where you are.",
        (("to", "whom; @all if left out", False),),
        "Read your mail with the tool `read` and deal with it. Then send one message of type `status` to {to}"
        " with the tool `send`: what is done since the last one, what you do now, what is in your way. Five"
        " lines at most.",
    ),
)  # fmt: skip
BY_NAME = {prompt.name: prompt for prompt in PROMPTS}
OTHERWISE = {"what": "your current change", "to": "@all"}  # what an argument that is left out means
