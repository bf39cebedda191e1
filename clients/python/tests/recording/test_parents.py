"""Spans of several services and of OpenTelemetry become one trace."""

from __future__ import annotations

import http.client
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider

from spoor_client import Parent, Spoor
from spoor_client.parents import is_export_to, parent_of_headers, parse_traceparent
from tests.conftest import Server

PARENT = Parent("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PARENT.traceparent, PARENT),
        (f" {PARENT.traceparent.upper()} ", PARENT),
        (f"cc{PARENT.traceparent[2:]}-more", PARENT),
        (PARENT.traceparent.replace("-01", "-00"), None),
        (f"ff{PARENT.traceparent[2:]}", None),
        (f"00-{'0' * 32}-{PARENT.span_id}-01", None),
        (f"00-{PARENT.trace_id}-{'0' * 16}-01", None),
        ("", None),
    ],
)
def test_traceparent_is_read_as_recommended(text: str, expected: Parent | None) -> None:
    assert parse_traceparent(text) == expected


@given(st.text())
def test_any_header_is_accepted(text: str) -> None:
    assert parse_traceparent(text) is None
    assert parent_of_headers({"Traceparent": text, "other": text}) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Traceparent": PARENT.traceparent},
        {"HTTP_TRACEPARENT": PARENT.traceparent},
        [(b"host", b"x"), (b"traceparent", PARENT.traceparent.encode())],
    ],
)
def test_headers_of_any_framework_are_read(headers: Any) -> None:
    assert parent_of_headers(headers) == PARENT


def test_headers_of_the_standard_library_are_read() -> None:
    message = http.client.HTTPMessage()
    message["Traceparent"] = PARENT.traceparent
    assert parent_of_headers(message) == PARENT  # type: ignore[arg-type]


@pytest.mark.parametrize("headers", [None, 5, "traceparent: 00", [1, ("a", "b", "c"), ("traceparent",)]])
def test_values_that_are_not_headers_have_no_parent(headers: Any) -> None:
    assert parent_of_headers(headers) is None


def test_spans_of_two_services_are_one_trace(client: Spoor, server: Server) -> None:
    other = Spoor(server.url, server.key, spool=False)
    with client.trace("front", user_id="u", tags=["a"], input="question", metadata={"m": 1}) as trace:
        assert client.headers() == {"traceparent": trace.traceparent}
        with client.span("call", kind="tool", input={"q": 1}):
            sent = client.headers()
    with other.trace("back", parent=other.from_headers(sent)) as remote:
        with other.span("model", kind="llm", model="m", attributes={"n": 1, "deep": {"of": [1]}}) as span:
            span.set_usage(3, 4, cost_usd=0.5)
            span.add_event("e", {"x": "y"})
        remote.score("s", 1)
    assert remote.id == trace.id
    assert client.flush(20).is_complete and other.flush(20).is_complete
    detail = client.traces.get(trace.id)
    by_id = {each["id"]: each["name"] for each in detail["spans"]}
    parents = {each["name"]: by_id.get(each["parentSpanId"] or "") for each in detail["spans"]}
    assert parents == {"front": None, "call": "front", "back": "call", "model": "back"}
    stored = detail["trace"]
    assert (stored["name"], stored["status"], stored["userId"], stored["tags"]) == ("front", "ok", "u", ["a"])
    assert (stored["input"], stored["usage"]["totalTokens"], stored["costUsd"]) == ("question", 7, 0.5)
    assert stored["metadata"]["m"] == 1
    model = next(each for each in detail["spans"] if each["name"] == "model")
    assert model["attributes"]["deep"] in ({"of": [1]}, '{"of": [1]}')
    assert model["events"][0]["attributes"] == {"x": "y"}
    assert detail["scores"][0]["name"] == "s"


def test_a_large_trace_that_others_join_is_sent_in_parts(client: Spoor) -> None:
    with client.trace("t") as trace:
        assert trace.traceparent
        for number in range(12):
            with trace.span(f"s{number}", input="x" * 400_000):
                pass
    assert client.flush(20).sent == 1
    detail = client.traces.get(trace.id)
    assert (len(detail["spans"]), detail["trace"]["status"]) == (13, "ok")


def test_a_trace_inside_an_opentelemetry_span_is_part_of_it(server: Server) -> None:
    client = Spoor(server.url, server.key, spool=False, opentelemetry=True)
    tracer = TracerProvider().get_tracer("test")
    with tracer.start_as_current_span("outer") as outer, client.trace("inner") as trace:
        context = outer.get_span_context()
    assert trace.id == f"{context.trace_id:032x}"
    with client.trace("without") as alone:
        pass
    assert alone.id != trace.id
    assert client.flush(20).sent == 2
    (span,) = client.traces.get(trace.id)["spans"]
    assert span["parentSpanId"] == f"{context.span_id:016x}"


def test_opentelemetry_is_joined_if_it_exports_to_this_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_export_to("http://spoor:8080")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    assert not is_export_to("http://spoor:8080")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://spoor:8080/api/v1/otlp/v1/traces")
    assert is_export_to("http://spoor:8080")
    assert not is_export_to("http://collector:4318"), "the variable for traces wins"
    for name in ("localhost", "127.0.0.1", "[::1]"):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"http://{name}:8787/api/v1/otlp/v1/traces")
        assert is_export_to("http://localhost:8787"), name
        assert not is_export_to("http://localhost:8788")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://spoor.example.com:443/api/v1/otlp/v1/traces")
    assert is_export_to("https://spoor.example.com")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://spoor:odd/")
    assert not is_export_to("http://spoor:odd/")
