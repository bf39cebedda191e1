"""Traces with many spans and large values are sent in several requests if the server does not accept them in one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from spoor_client import Spoor

Read = Callable[[Any], Any]


def test_four_megabytes_are_cut_and_say_so(client: Spoor, read: Read) -> None:
    with client.trace("t", input="i" * 4_000_000) as trace:
        for number in range(10):
            with trace.span(f"s{number}", input="x" * 4_000_000) as span:
                span.set_output(["é" * 4_000_000, "short"])
        trace.set_output("o" * 4_000_000)
    detail = read(trace)
    assert detail["trace"]["metadata"]["spoor"]["cut"] >= 22
    assert detail["trace"]["input"].endswith(" characters]")
    assert len(detail["trace"]["input"]) > 300_000
    assert detail["spans"][9]["output"][1] == "short"
    # The trace is sent in several requests, each of at most 2 MB.
    assert detail["trace"]["estimatedBytes"] > 5_500_000


def test_a_trace_of_several_megabytes_is_stored_whole(client: Spoor, read: Read) -> None:
    with client.trace("t", input="i" * 300_000) as trace:
        for number in range(8):
            with trace.span(f"s{number}", input="é" * 200_000):
                pass
        trace.set_output("o" * 300_000)
        trace.set_session("s")
    detail = read(trace)
    stored = detail["trace"]
    assert (len(stored["input"]), len(stored["output"]), stored["sessionId"]) == (300_000, 300_000, "s")
    assert [span["input"] for span in detail["spans"]] == ["é" * 200_000] * 8
    assert (stored["status"], stored["metadata"]) == ("ok", {})


def test_a_large_trace_is_handed_on_while_it_runs(client: Spoor, read: Read) -> None:
    with client.trace("t", input="in", tags=["a"]) as trace:
        trace.score("early", 1)
        for number in range(30):
            with trace.span(f"s{number}", input="x" * 300_000):
                pass
        trace.set_session("too late")
        trace.set_input("too late")
        trace.add_tags("b")
    named = [each.split(": ")[1].split(" before")[0] for each in client.flush(20).problems]
    assert named == ["set session_id", "set input"]
    detail = read(trace)
    assert all(len(span["input"]) == 300_000 for span in detail["spans"]) and len(detail["spans"]) == 30
    stored = detail["trace"]
    assert (stored["input"], stored["tags"], stored["scores"]["early"]["value"]) == ("in", ["a", "b"], 1)


def test_what_comes_after_the_end_of_a_large_trace_is_handed_on_as_well(client: Spoor, read: Read) -> None:
    trace = client.start("t")
    open_spans = [trace.start_span(f"s{number}", input="x" * 600_000) for number in range(12)]
    trace.end(output="out")
    for span in open_spans[:-1]:
        span.end()
    assert trace.is_live and not trace.is_finished
    open_spans[-1].end()
    detail = read(trace)
    assert (detail["trace"]["status"], detail["trace"]["output"], len(detail["spans"])) == ("unset", "out", 12)


def test_beyond_200_spans_errors_are_kept(client: Spoor, read: Read) -> None:
    with client.trace("t") as trace:
        for number in range(250):
            with contextlib.suppress(ValueError), trace.span(f"s{number}", kind="tool"):
                if number >= 240:
                    raise ValueError(number)
    detail = read(trace)
    assert len(detail["spans"]) == 200
    assert detail["trace"]["errorCount"] == 10
    assert detail["spans"][0]["name"] == "s0"
    assert detail["trace"]["metadata"]["spoor"]["spansLeftOut"] == {"count": 50, "kinds": {"tool": 50}}


def test_beyond_200_spans_those_that_began_first_are_kept_and_no_parent_is_missing(client: Spoor, read: Read) -> None:
    with client.trace("t") as trace, client.span("outer"):
        for _ in range(150):
            with client.span("middle"), client.span("inner"):
                pass
    detail = read(trace)
    known = {span["id"] for span in detail["spans"]}
    assert [span["name"] for span in detail["spans"] if span["parentSpanId"] is None] == ["outer"]
    assert len(known) == 200 and all(span["parentSpanId"] in known for span in detail["spans"][1:])
    assert detail["trace"]["metadata"]["spoor"]["spansLeftOut"] == {"count": 101, "kinds": {"custom": 101}}
