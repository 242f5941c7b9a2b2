"""How often one caller may ask: so many each second, five times as many at once."""

import time
from collections import OrderedDict

_BURST = 5
_MOST = 4096  # callers that are remembered


class Rates:
    """A bucket for each caller."""

    def __init__(self, each_second: int) -> None:
        self.each_second = each_second  # may change at any time
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, as of when

    def take(self, caller: str, now: float | None = None) -> float:
        """0 where that may be asked now, or after how many seconds."""
        if not self.each_second:
            return 0.0
        now = time.monotonic() if now is None else now
        most = float(self.each_second * _BURST)
        left, at = self._buckets.pop(caller, (most, now))
        left = min(most, left + (now - at) * self.each_second)
        wait = 0.0 if left >= 1 else (1 - left) / self.each_second
        self._buckets[caller] = (left if wait else left - 1, now)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return wait
