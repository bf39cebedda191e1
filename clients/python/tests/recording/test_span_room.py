"""Of more spans than a trace holds, those that begin first are recorded, and late failures in place of others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spoor.document import SpanText
from spoor.recording.span_room import SpanRoom

MOST = 10


def span(span_id: str, is_error: bool = False, parent_id: str | None = None) -> SpanText:
    return SpanText(f'"id":"{span_id}"', {}, [], span_id, parent_id, "tool", is_error)


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 30))
def test_no_more_than_a_trace_holds_are_recorded_and_the_others_are_counted(errors: list[bool], taken_at: int) -> None:
    room = SpanRoom(MOST)
    taken: list[SpanText] = []
    for number, is_error in enumerate(errors):
        room.enter(str(number))
        room.add(span(str(number), is_error))
        if number == taken_at:
            taken += room.take()
    taken += room.take()
    assert room.size == 0
    assert len(taken) == len({each.id for each in taken}) == min(len(errors), MOST)
    assert room.left_out == ({"tool": len(errors) - MOST} if len(errors) > MOST else {})
    if taken_at >= len(errors):
        assert sum(each.is_error for each in taken) == min(sum(errors), MOST)


def test_parents_begin_before_their_children_and_stay() -> None:
    room = SpanRoom(4)
    for span_id in ("root", "child", "fine", "other", "late"):
        room.enter(span_id)
    room.add(span("child", parent_id="root"))
    room.add(span("fine"))
    room.add(span("other"))
    room.add(span("root"))
    # It takes the place of the newest that is neither a failure, nor the parent of another, nor its own.
    room.add(span("late", is_error=True, parent_id="other"))
    assert [each.id for each in room.take()] == ["child", "other", "root", "late"]
    # What is handed on stays.
    room.add(span("later", is_error=True))
    assert room.take() == []
    assert room.left_out == {"tool": 2}
    assert not room.has("fine") and not room.has("later")
