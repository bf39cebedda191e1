"""
Times within a trace. The wall clock is read once, when the trace starts; a monotonic clock is used from then on.
Therefore, nothing ends before it starts, even if the wall clock is changed in the meantime.
"""

from __future__ import annotations

import datetime
import time

from .values import scalar_of

#: A time given by an application. A datetime without a zone is in local time, as in Python. ISO 8601 text without a
#: zone is in UTC, as on the server. A number counts seconds since 1970 or, from 10^11 on, milliseconds.
Time = datetime.datetime | float | str
#: Seconds reach this number in the year 5138, milliseconds reached it in 1973.
_FIRST_MILLISECONDS = 1e11
#: Microseconds and nanoseconds are larger, and are rejected.
_LAST_MILLISECONDS = 1e14

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_DAY = datetime.timedelta(days=1)
#: The server accepts the years 1 to 9999.
_EARLIEST = datetime.datetime.min.replace(tzinfo=datetime.timezone.utc) + _DAY
_LATEST = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc) - _DAY


class Clock:
    def __init__(self) -> None:
        self._wall = time.time_ns()
        self._steady = time.perf_counter_ns()

    def now(self) -> int:
        """Returns the current time in nanoseconds since 1970."""
        return self._wall + time.perf_counter_ns() - self._steady


def timestamp(nanoseconds: int) -> str:
    """Formats a time as ISO 8601 in UTC, with microseconds."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{rest // 1_000:06d}Z"


def nanoseconds_of(given: Time | None) -> int | None:
    """Converts a time to nanoseconds since 1970; None if the time cannot be recorded."""
    given = scalar_of(given)
    try:
        if isinstance(given, str):
            # Python 3.10 does not accept the suffix Z.
            time_given = datetime.datetime.fromisoformat(given.strip().replace("Z", "+00:00"))
            if time_given.tzinfo is None:
                time_given = time_given.replace(tzinfo=datetime.timezone.utc)
        elif isinstance(given, datetime.datetime):
            time_given = given.astimezone(datetime.timezone.utc)
        elif isinstance(given, (int, float)) and not isinstance(given, bool):
            if abs(given) >= _LAST_MILLISECONDS:
                return None
            seconds = given / 1_000 if abs(given) >= _FIRST_MILLISECONDS else given
            time_given = _EPOCH + datetime.timedelta(seconds=seconds)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    if not _EARLIEST <= time_given <= _LATEST:
        return None
    return (time_given - _EPOCH) // datetime.timedelta(microseconds=1) * 1_000
