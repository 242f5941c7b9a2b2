"""Kinds of fields that many payloads have."""

from typing import Annotated

from postroom.model.payload import rule

Text = Annotated[str, rule(minLength=1)]
Moment = Annotated[str, rule(format="date-time")]
Texts = tuple[str, ...]
TextOrTexts = Annotated[tuple[str, ...], rule(type=("string", "array"))]  # one text stands for a list of one
Number = int | str  # of a pull request: 12, or a name where a forge has names

TaskId = Annotated[Text, "the task, by its id in your tracker"]
Branch = Annotated[Text, "the branch it is about"]
PullRequest = Annotated[Number, "the pull request, by its number"]
