"""A clock that tests own: it stands still until it is told to move."""

START = 1_800_000_000_000  # 2027, in milliseconds


class Clock:
    """Called like `postroom.clock.wall`."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        """Forwards, or backwards when negative."""
        self.now += int(seconds * 1000)
