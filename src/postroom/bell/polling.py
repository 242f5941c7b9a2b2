"""The bell where Unix sockets do not exist: waiters look every 100 ms, and `status` says so."""

import time
from collections.abc import Callable, Mapping, Sequence

SECONDS = 0.1
NONE: Mapping[str, bytes] = {}


class PollingBell:
    """Rings reach nobody; waiters wake by themselves."""

    polls = True
    errors = 0

    def waiter(self, party: str, *, enclosures: bool = False, aside: bool = False) -> "PollingWaiter":
        return PollingWaiter()

    def attend(self, waiter: object, told: Callable[[], None]) -> None: ...

    def wants_enclosure(self, party: str) -> bool:
        return False

    def ring(self, parties: Sequence[str], enclosures: Mapping[str, bytes] = NONE) -> dict[str, int]:
        return dict.fromkeys(parties, 0)

    def waiting(self, party: str) -> int:
        return 0

    def close(self) -> None: ...


class PollingWaiter:
    """Sleeps at most 100 ms at a time, and then asks to look."""

    enclosure = b""

    def fileno(self) -> int:
        return -1

    def wait(self, timeout: float | None) -> bool:
        time.sleep(SECONDS if timeout is None else min(SECONDS, max(0.0, timeout)))
        return True

    def drain(self) -> bool:
        return False

    def is_lost(self) -> bool:
        return False

    def renew(self) -> bool:
        return False

    def close(self) -> None: ...
