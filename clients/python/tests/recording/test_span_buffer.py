"""If a trace has too many spans, the earliest spans are recorded, and late failures replace some of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spoor_client.document import SpanText
from spoor_client.recording.span_buffer import SpanBuffer

MOST = 10


def span(span_id: str, is_error: bool = False, parent_id: str | None = None) -> SpanText:
    return SpanText(f'"id":"{span_id}"', {}, [], span_id, parent_id, "tool", is_error)


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 30))
def test_a_trace_records_as_many_spans_as_it_holds_and_counts_the_others(errors: list[bool], taken_at: int) -> None:
    buffer = SpanBuffer(MOST)
    taken: list[SpanText] = []
    for number, is_error in enumerate(errors):
        buffer.enter(str(number))
        buffer.add(span(str(number), is_error))
        if number == taken_at:
            taken += buffer.take()
    taken += buffer.take()
    assert buffer.size == 0
    assert len(taken) == len({each.id for each in taken}) == min(len(errors), MOST)
    assert buffer.left_out == ({"tool": len(errors) - MOST} if len(errors) > MOST else {})
    if taken_at >= len(errors):
        assert sum(each.is_error for each in taken) == min(sum(errors), MOST)


def test_parents_start_before_their_children_and_are_kept() -> None:
    buffer = SpanBuffer(4)
    for span_id in ("root", "child", "fine", "other", "late"):
        buffer.enter(span_id)
    buffer.add(span("child", parent_id="root"))
    buffer.add(span("fine"))
    buffer.add(span("other"))
    buffer.add(span("root"))
    # The late failure replaces the newest span that is not a failure, not a parent, and not its own parent.
    buffer.add(span("late", is_error=True, parent_id="other"))
    assert [each.id for each in buffer.take()] == ["child", "other", "root", "late"]
    # Spans that were sent are not replaced.
    buffer.add(span("later", is_error=True))
    assert buffer.take() == []
    assert buffer.left_out == {"tool": 2}
    assert not buffer.has("fine") and not buffer.has("later")
