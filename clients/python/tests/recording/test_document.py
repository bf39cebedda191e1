"""Bodies respect the server's size limits, and state what was cut."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spoor_client import document
from spoor_client.document import Notes, SpanText, fit, portions, water_level, with_notes


@given(st.lists(st.integers(0, 1_000)), st.integers(0, 5_000))
def test_the_water_level_fills_the_space_and_no_more(sizes: list[int], limit: int) -> None:
    level = water_level(sizes, limit)
    taken = sum(min(size, level) for size in sizes)
    assert taken <= limit
    # Nothing is cut if everything fits. Otherwise, one more byte for each cut value would exceed the limit.
    assert taken == sum(sizes) or sum(min(size, level + 1) for size in sizes) > limit


@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=4), st.integers(2_000, 6_000))
def test_fitting_cuts_the_largest_values_only(sizes: list[int], budget: int) -> None:
    texts = {str(index): json.dumps("x" * size) for index, size in enumerate(sizes)}
    before = dict(texts)
    cuts = fit(texts, budget)
    assert sum(map(len, texts.values())) <= budget
    assert cuts == sum(texts[name] != before[name] for name in texts)
    level = water_level([len(text) for text in before.values()], budget)
    assert all(texts[name] == text for name, text in before.items() if len(text) <= level)


@given(st.lists(st.integers(0, 900), max_size=30))
def test_spans_are_divided_in_order_and_none_is_lost(sizes: list[int]) -> None:
    spans = [SpanText("x" * size, {}) for size in sizes]
    divided = portions(spans, 1_000)
    assert [span for portion in divided for span in portion] == spans
    assert all(portion and sum(span.size for span in portion) <= 1_000 for portion in divided)


def test_whole_events_are_omitted_oldest_first() -> None:
    each = SpanText('"id":"1"', {}, [json.dumps({"name": f"{number}" * 400}) for number in range(9)])
    assert each.shrink(4_000) > 0
    names = [json.loads(event)["name"][0] for event in each.events]
    assert names == ["7", "8"]
    json.loads(each.text)


def test_notes_precede_the_applications_own_metadata() -> None:
    notes = Notes(cut=2, left_out={"tool": 3, "llm": 1}, is_not_ended=True, spans_not_ended=1)
    left_out = {"count": 4, "kinds": {"llm": 1, "tool": 3}}
    said = {"cut": 2, "spansLeftOut": left_out, "notEnded": True, "spansNotEnded": 1}
    assert json.loads(with_notes("{}", notes)) == {"spoor": said}
    assert json.loads(with_notes('{"a":1}', notes)) == {"spoor": said, "a": 1}
    assert with_notes('{"a":1}', Notes()) == '{"a":1}'


def test_short_texts_are_those_that_the_server_accepts() -> None:
    assert document.short_text("", 5) is None
    assert document.short_text("a\x00b\ud800", 500) == "a�b�"
    assert document.short_text("x" * 300, 200) == "x" * 200
    assert document.tags_of(["a", "", "a", "b" * 100, 7]) == ["a", "b" * 64, "7"]
    assert document.usage_of({"inputTokens": 5, "outputTokens": -1, "totalTokens": True}) == {"inputTokens": 5}


def test_a_total_that_only_one_usage_has_is_completed_from_the_others_parts() -> None:
    total: dict[str, int] = {}
    document.add_usage(total, {"inputTokens": 3, "outputTokens": 4})
    assert total == {"inputTokens": 3, "outputTokens": 4}
    document.add_usage(total, {"inputTokens": 1, "totalTokens": 5})
    assert total == {"inputTokens": 4, "outputTokens": 4, "totalTokens": 12}
    document.add_usage(total, {"totalTokens": document.MAX_COUNT})
    assert total["totalTokens"] == document.MAX_COUNT


def test_the_rules_match_the_servers_document(openapi: Any) -> None:
    schemas = openapi["components"]["schemas"]
    trace, of_span = schemas["TraceInput"]["properties"], schemas["SpanInput"]["properties"]
    assert document.MAX_SPANS == trace["spans"]["maxItems"]
    assert document.MAX_TAGS == trace["tags"]["maxItems"]
    assert document.MAX_TAG == trace["tags"]["items"]["maxLength"]
    assert document.MAX_NAME == trace["name"]["maxLength"] == of_span["name"]["maxLength"]
    assert document.MAX_TEXT == trace["model"]["maxLength"] == trace["sessionId"]["maxLength"]
    assert document.MAX_EVENTS == of_span["events"]["maxItems"]
    assert document.KINDS == set(of_span["kind"]["enum"])
    assert document.STATUSES == set(trace["status"]["enum"])
    assert document.MAX_COUNT == schemas["UsageInput"]["properties"]["inputTokens"]["maximum"]
