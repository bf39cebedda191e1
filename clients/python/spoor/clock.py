"""
Times within a trace: the wall clock is looked at once, when the trace starts, and a steady clock from there on. So
nothing ends before it started, whatever is done to the wall clock meanwhile.
"""

from __future__ import annotations

import time


class Clock:
    def __init__(self) -> None:
        self._wall = time.time_ns()
        self._steady = time.perf_counter_ns()

    def now(self) -> int:
        """Nanoseconds since 1970."""
        return self._wall + time.perf_counter_ns() - self._steady


def timestamp(nanoseconds: int) -> str:
    """ISO 8601 in UTC, to the microsecond."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{rest // 1_000:06d}Z"
