"""Options and small conveniences: addresses, attributes of all spans, sampling, times."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest

from spoor_client import Spoor
from tests.conftest import Server

Read = Callable[[Any], Any]


def test_a_trace_has_an_address_and_shows_it(server: Server, client: Spoor) -> None:
    with client.trace("my <trace>") as trace, trace.span("step") as span:
        assert trace.url == span.url == f"{server.url}/app/t/{trace.id}"
        assert repr(trace) == f"<Trace 'my <trace>' running {trace.url}>"
    assert trace._repr_html_() == f'trace <a href="{trace.url}">my &lt;trace&gt;</a> (ok)'


def test_attributes_of_a_trace_are_passed_down_to_its_spans(client: Spoor, read: Read) -> None:
    with client.trace("t", span_attributes={"tenant": "acme", "tier": 1}) as trace:
        with client.span("a"), client.span("b", attributes={"tier": 2}):
            pass
    attributes = [span["attributes"] for span in read(trace)["spans"]]
    assert attributes == [{"tenant": "acme", "tier": 1}, {"tenant": "acme", "tier": 2}]


def test_sampling_records_whole_traces_and_all_failed_ones(server: Server, tag: str) -> None:
    client = Spoor(server.url, server.key, spool=False, sample_rate=0.3, live=True)
    for number in range(100):
        with client.trace("plain", tags=[tag]), client.span("step"):
            pass
        if number < 10:
            with pytest.raises(ValueError), client.trace("failed", tags=[tag]):
                raise ValueError
            with client.trace("failed step", tags=[tag]) as trace:
                trace.start_span("step").end(error=ValueError())
    assert client.flush(20).is_complete
    stored = [trace["name"] for trace in server.stored(tag)]
    assert (stored.count("failed"), stored.count("failed step")) == (10, 10)
    assert 5 < stored.count("plain") < 60
    assert all(trace["spanCount"] == 1 for trace in server.stored(tag) if trace["name"] == "plain")


def test_other_services_do_not_join_a_trace_that_is_not_sampled(server: Server) -> None:
    client = Spoor(server.url, server.key, spool=False, sample_rate=0)
    with client.trace("t"):
        headers = client.headers()
    assert headers["traceparent"].endswith("-00")
    assert client.from_headers(headers) is None


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2026-01-05T12:00:00", "2026-01-05T12:00:00.000Z"),
        ("2026-01-05 13:00:00+01:00", "2026-01-05T12:00:00.000Z"),
        (1_767_614_400, "2026-01-05T12:00:00.000Z"),
        (1_767_614_400_250, "2026-01-05T12:00:00.250Z"),
        (datetime.datetime.fromtimestamp(1_767_614_400), "2026-01-05T12:00:00.000Z"),
    ],
)
def test_a_given_time(client: Spoor, read: Read, given: Any, stored: str) -> None:
    trace = client.start("t", started_at=given)
    trace.end(ended_at=given)
    assert read(trace)["trace"]["startedAt"] == stored


@pytest.mark.parametrize("given", ["yesterday", datetime.date(2026, 1, 5), 1.7e15, True, float("nan")])
def test_an_unreadable_time_is_reported(server: Server, given: Any) -> None:
    problems: list[str] = []
    client = Spoor(server.url, server.key, spool=False, on_problem=problems.append)
    trace = client.start("t", started_at=given)
    trace.start_span("s", started_at=given).end(ended_at=given)
    trace.end(ended_at=given)
    assert client.flush(20).is_complete
    assert {re.sub(r"^.*?(started_at|ended_at) must be a datetime.*$", r"\1", text) for text in problems} == {
        *("started_at", "ended_at")
    }
