"""Times of a trace are consistent, even if the clock is changed."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor_client import Spoor
from spoor_client.clock import nanoseconds_of, timestamp

YEAR_1, YEAR_9999 = -62_135_596_800, 253_402_300_799


@given(st.integers(YEAR_1 * 10**9, YEAR_9999 * 10**9))
def test_timestamps_are_those_of_python(nanoseconds: int) -> None:
    epoch = datetime.datetime(1970, 1, 1)
    expected = epoch + datetime.timedelta(microseconds=nanoseconds // 1_000)
    assert timestamp(nanoseconds) == expected.isoformat(timespec="microseconds") + "Z"


@pytest.mark.parametrize("jump", [-7 * 86_400, 7 * 86_400])
def test_setting_the_clock_while_a_trace_runs_changes_no_duration(
    client: Spoor, read: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    # These are the times that the system returns after the clock was set, which a test may not do.
    now, now_ns = time.time, time.time_ns
    with client.trace("t") as trace:
        with trace.span("before"):
            monkeypatch.setattr(time, "time", lambda: now() + jump)
            monkeypatch.setattr(time, "time_ns", lambda: now_ns() + jump * 10**9)
        with trace.span("after"):
            pass
    detail = read(trace)
    assert 0 <= detail["trace"]["durationMs"] < 10_000
    for span in detail["spans"]:
        steps = (detail["trace"], span, span, detail["trace"])
        fields = ("startedAt", "startedAt", "endedAt", "endedAt")
        times = [nanoseconds_of(step[field]) or 0 for step, field in zip(steps, fields, strict=True)]
        assert times == sorted(times)


@given(st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 29), timezones=st.timezones()))
def test_given_times_are_kept_to_the_microsecond(time_given: datetime.datetime) -> None:
    found = nanoseconds_of(time_given)
    assert found is not None and found == nanoseconds_of(time_given.isoformat())
    assert timestamp(found) == time_given.astimezone(datetime.timezone.utc).isoformat(timespec="microseconds").replace(
        "+00:00", "Z"
    )


@pytest.mark.parametrize("none", [None, "yesterday", float("nan"), float("inf"), 1e300, datetime.datetime.max, [1]])
def test_invalid_times_are_none(none: Any) -> None:
    assert nanoseconds_of(none) is None


def test_earlier_work_has_its_own_times(client: Spoor, read: Callable[[Any], Any]) -> None:
    trace = client.start("job", started_at="2026-01-05T12:00:00Z")
    span = trace.start_span("step", started_at=datetime.datetime(2026, 1, 5, 12, 0, 1, tzinfo=datetime.timezone.utc))
    span.end(ended_at=1_767_614_402.5)
    trace.end(ended_at="2026-01-05T11:00:00")
    detail = read(trace)
    assert (detail["trace"]["startedAt"], detail["trace"]["durationMs"]) == ("2026-01-05T12:00:00.000Z", 0)
    assert (detail["spans"][0]["startedAt"], detail["spans"][0]["durationMs"]) == ("2026-01-05T12:00:01.000Z", 1500)
