"""The events of a room elsewhere, as they happen; a stream that breaks is taken up where it ended."""

import time
from collections.abc import Iterator
from contextlib import closing

from postroom.errors import Unreachable
from postroom.model.message import Event
from postroom.protocol import unwire
from postroom.room.carriage import SILENCE, Carriage
from postroom.room.history import concerns

_FIRST, _LONGEST = 0.2, 10.0  # seconds before a broken stream is taken up again


def follow(carriage: Carriage, cursor: str, party: str | None) -> Iterator[Event]:
    """Every event after a cursor, for ever; of those about somebody, if that is asked for."""
    pause = _FIRST
    while True:
        try:
            for heard, event in _heard(carriage, cursor):
                cursor, pause = heard, _FIRST
                if event is not None and concerns(event, party):
                    yield event
        except Unreachable:
            pass
        time.sleep(pause)
        pause = min(_LONGEST, pause * 2)


def _heard(carriage: Carriage, cursor: str) -> Iterator[tuple[str, Event | None]]:
    with closing(carriage.stream("/stream", after=cursor)) as stream:
        while (frame := stream.frame(SILENCE)) is not None:
            if "id" in frame:
                is_event = frame.get("event") != "hello"
                yield frame["id"], unwire.event(frame.get("data", {})) if is_event else None
