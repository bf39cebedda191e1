"""
A part that is rejected as too large is sent in smaller requests. It is first divided, then cut, and every cut is noted.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor_client import json_text
from spoor_client.document import SpanText, end_body, spans_body, trace_body
from spoor_client.otlp import export_bodies
from spoor_client.sending.delivery import Part, PartKind
from spoor_client.sending.smaller import _START, smaller

ID = "0af7651916cd43dd8448eb211c80319c"
TIMES = '"startedAt":"2026-01-01T00:00:00.000000Z","endedAt":"2026-01-01T00:00:01.000000Z"'

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, max_size=6), st.sampled_from([None, 1]))
def test_json_is_split_and_reassembled_unchanged(given: Any, indent: int | None) -> None:
    text = json.dumps(given, indent=indent)
    found = json_text.members(text)
    assert {name: json.loads(each) for name, each in found.items()} == given
    assert json.loads(json_text.object_text(found)) == given
    listed = json.dumps(list(given.values()), indent=indent)
    assert [json.loads(each) for each in json_text.items(listed)] == list(given.values())


@given(st.text())
def test_invalid_json_is_a_value_error(text: str) -> None:
    for part in (json_text.members, json_text.items):
        try:
            part(text)
        except ValueError:
            continue
        json.loads(text)


def span(number: int, size: int = 400) -> SpanText:
    span_id = f"{number:016x}"
    head = f'"id":"{span_id}","name":"s{number}","kind":"tool","status":"ok",{TIMES}'
    attributes = '{"text":"' + "a" * size + '","exact":0.12345678901234567890123}'
    return SpanText(head, {"input": json.dumps("é" * size), "attributes": attributes}, [], span_id)


def record(spans: int, size: int = 400) -> bytes:
    head = f'"id":"{ID}","name":"t","tags":["x"],{TIMES}'
    texts = {"input": json.dumps("i" * size), "output": json.dumps("o" * size)}
    return trace_body(head, texts, '{"m":1}', [span(number, size) for number in range(spans)])


def reduced(part: Part, limit: int) -> tuple[list[Part], list[Part]]:
    """Returns the parts that a proxy with this limit accepts, and those that it never accepts."""
    if len(part.body) <= limit:
        return [part], []
    made = smaller(part)
    assert all(len(each.body) < len(part.body) for each in made)
    through: list[Part] = []
    refused: list[Part] = [] if made else [part]
    for each in made:
        more, never = reduced(each, limit)
        through += more
        refused += never
    return through, refused


def spans_in(part: Part) -> list[Any]:
    body = json.loads(part.body)
    if part.kind == "otlp":
        return list(body["resourceSpans"][0]["scopeSpans"][0]["spans"])
    return list(body.get("trace", body).get("spans", []))


def test_a_trace_is_sent_as_its_start_its_spans_and_its_end_and_nothing_is_cut() -> None:
    whole = record(12)
    through, refused = reduced(Part("record", whole), 6_000)
    assert refused == []
    assert [part.kind for part in through] == ["start", *["spans"] * (len(through) - 2), "end"]
    assert len(through) > 4
    trace = json.loads(whole)["trace"]
    assert [each for part in through for each in spans_in(part)] == trace.pop("spans")
    start, end = json.loads(through[0].body), json.loads(through[-1].body)
    assert start["schemaVersion"] == end.pop("schemaVersion") == 1
    assert {**start["trace"], **end} == trace
    assert "endedAt" not in start["trace"] and "status" not in start["trace"]
    # Numbers keep all their digits.
    assert b"0.12345678901234567890123" in through[1].body


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("record", record(0, 50_000)),
        ("start", trace_body('"id":"1"', {"input": json.dumps("i" * 50_000)}, "{}", [])),
        ("spans", spans_body([span(1, 50_000)])),
        ("end", end_body('"status":"ok"', {"output": json.dumps("o" * 50_000)}, '{"m":1,"spoor":{"cut":2}}', [])),
        ("otlp", export_bodies(ID, "1" * 16, [span(1, 50_000)], 10**6)[0]),
    ],
)
def test_indivisible_values_are_cut_and_marked(kind: PartKind, body: bytes) -> None:
    through, refused = reduced(Part(kind, body), 8_000)
    assert refused == [] and b"[cut " in b"".join(part.body for part in through)
    text = b"".join(part.body for part in through).decode()
    for part in through:
        json.loads(part.body)
    assert '"spoor.cut"' in text or '"spoor":{"cut":' in text
    assert "0.12345678901234567890123" in text or kind not in ("spans",)


@given(st.integers(1, 20), st.integers(0, 3_000), st.sampled_from(["record", "spans", "otlp", "end"]))
def test_with_any_limit_no_span_is_lost_silently(count: int, size: int, kind: PartKind) -> None:
    spans = [span(number, size) for number in range(count)]
    bodies = {
        "record": record(count, size),
        "spans": spans_body(spans),
        "end": end_body('"status":"ok"', {}, "{}", spans),
        "otlp": export_bodies(ID, "1" * 16, spans, 10**9)[0],
    }
    through, refused = reduced(Part(kind, bodies[kind]), 2_500)
    found = [each.get("id") or each["spanId"] for part in through for each in spans_in(part)]
    assert refused == []
    assert found == [each.id for each in spans]


@pytest.mark.parametrize(
    "body", ["", "{}", "{%s}", "[%s]", '{"trace":7,%s}', '{"spans":[7],%s}', '{"resourceSpans":[],%s}']
)
@pytest.mark.parametrize("kind", ["record", "start", "spans", "end", "otlp", "score"])
def test_a_body_from_another_sender_cannot_be_made_smaller(kind: PartKind, body: str) -> None:
    assert smaller(Part(kind, body.replace("%s", f'"x":"{"x" * 3_000}"').encode())) == []
    assert smaller(Part(kind, b"\xff" * 3_000)) == []


def test_an_application_may_use_the_name_of_the_notes_for_its_own_data() -> None:
    body = end_body('"status":"ok"', {"output": json.dumps("o" * 5_000)}, '{"spoor":"mine"}', [])
    (made,) = smaller(Part("end", body))
    assert json.loads(made.body)["metadata"] == {"spoor": {"cut": 1}}


def test_the_server_accepts_each_field_of_a_trace_at_its_start_or_its_end(openapi: Any) -> None:
    schemas = openapi["components"]["schemas"]
    at_end = set(schemas["EndBody"]["properties"])
    assert set(schemas["TraceInput"]["properties"]) <= set(_START) | at_end
    assert not (set(_START) - {"tags"}) & at_end
