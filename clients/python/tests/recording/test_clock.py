"""Times of a trace fit together, whatever is done to the clock."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor import Spoor
from spoor.clock import timestamp

YEAR_1, YEAR_9999 = -62_135_596_800, 253_402_300_799


@given(st.integers(YEAR_1 * 10**9, YEAR_9999 * 10**9))
def test_timestamps_are_those_of_python(nanoseconds: int) -> None:
    epoch = datetime.datetime(1970, 1, 1)
    expected = epoch + datetime.timedelta(microseconds=nanoseconds // 1_000)
    assert timestamp(nanoseconds) == expected.isoformat(timespec="microseconds") + "Z"


@pytest.mark.parametrize("jump", [-7 * 86_400, 7 * 86_400])
def test_a_clock_that_is_set_while_a_trace_runs_changes_no_duration(
    client: Spoor, read: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    # What the system says after the clock was set: nobody may set it in a test.
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
        assert detail["trace"]["startedAt"] <= span["startedAt"] <= span["endedAt"] <= detail["trace"]["endedAt"]
