"""Traces with many spans and large values are sent in several requests if the server does not accept them in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spoor_client import Spoor
from tests.conftest import Server

Read = Callable[[Any], Any]


def test_four_megabytes_are_cut_and_marked(client: Spoor, read: Read) -> None:
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


def test_a_large_trace_is_sent_while_it_runs(client: Spoor, read: Read) -> None:
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


def test_spans_after_the_end_of_a_large_trace_are_sent_as_well(client: Spoor, read: Read) -> None:
    trace = client.start("t")
    open_spans = [trace.start_span(f"s{number}", input="x" * 600_000) for number in range(12)]
    trace.end(output="out")
    for span in open_spans[:-1]:
        span.end()
    assert trace.is_live and not trace.is_finished
    open_spans[-1].end()
    detail = read(trace)
    assert (detail["trace"]["status"], detail["trace"]["output"], len(detail["spans"])) == ("unset", "out", 12)


def test_a_trace_with_more_than_200_spans_keeps_them_all(client: Spoor, read: Read, tag: str) -> None:
    with client.trace("t", input="in", tags=[tag]) as trace:
        with client.span("outer", kind="agent"):
            for number in range(300):
                with client.span(f"s{number}", kind="llm") as span:
                    span.set_usage(input_tokens=2, output_tokens=1)
        trace.set_output("out")
        trace.score("good", True)
    detail = read(trace)
    assert len(detail["spans"]) == 302
    (root,) = [span for span in detail["spans"] if span["parentSpanId"] is None]
    (outer,) = [span for span in detail["spans"] if span["name"] == "outer"]
    assert (root["name"], outer["parentSpanId"]) == ("t", root["id"])
    assert [span["parentSpanId"] for span in detail["spans"] if span["name"].startswith("s")] == [outer["id"]] * 300
    stored = detail["trace"]
    assert (stored["input"], stored["output"], stored["status"], stored["tags"]) == ("in", "out", "ok", [tag])
    assert stored["usage"]["totalTokens"] == 900
    assert (stored["metadata"], detail["scores"][0]["name"]) == ({}, "good")


def test_a_live_trace_reports_at_its_200th_span_what_it_omits(server: Server) -> None:
    problems: list[str] = []
    client = Spoor(server.url, server.key, spool=False, on_problem=problems.append)
    with client.trace("t", live=True) as trace:
        for number in range(250):
            trace.start_span(f"s{number}").end()
    assert client.flush(20).is_complete
    assert len(client.traces.get(trace.id)["spans"]) == 200
    (problem,) = problems
    assert problem.endswith(
        "trace 't' keeps its first 200 spans, and failed spans that replace others: later spans are left out"
    )


def test_beyond_200_spans_of_a_live_trace_no_parent_is_missing(client: Spoor, read: Read) -> None:
    with client.trace("t", live=True) as trace, client.span("outer"):
        for _ in range(150):
            with client.span("middle"), client.span("inner"):
                pass
    detail = read(trace)
    known = {span["id"] for span in detail["spans"]}
    assert [span["name"] for span in detail["spans"] if span["parentSpanId"] is None] == ["outer"]
    assert len(known) == 200 and all(span["parentSpanId"] in known for span in detail["spans"][1:])
    assert detail["trace"]["metadata"]["spoor"]["spansLeftOut"] == {"count": 101, "kinds": {"custom": 101}}
