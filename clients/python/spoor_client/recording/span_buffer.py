"""
Selects the spans to record when a trace has more spans than the limit. Spans that start first get the slots, because
parents start before their children. A later failed span replaces a span that did not fail, has no recorded children,
and has not been sent. Pure.
"""

from __future__ import annotations

from ..document import SpanText


class SpanBuffer:
    def __init__(self, most: int) -> None:
        #: Maximum number of spans.
        self.most = most
        self._places: set[str] = set()
        #: Finished spans that have not been sent.
        self._waiting: list[SpanText] = []
        #: Parents of the recorded spans.
        self._parents: set[str] = set()
        #: Total size of the waiting spans in bytes.
        self.size = 0
        #: Number of spans without a slot, by kind.
        self.left_out: dict[str, int] = {}

    def enter(self, span_id: str) -> None:
        """Called when a span starts."""
        if len(self._places) < self.most:
            self._places.add(span_id)

    @property
    def is_full(self) -> bool:
        return len(self._places) >= self.most

    @property
    def has_errors(self) -> bool:
        return any(span.is_error for span in self._waiting)

    def has(self, span_id: str) -> bool:
        return span_id in self._places

    def add(self, span: SpanText) -> None:
        """Called when a span has ended."""
        if span.id not in self._places and not (span.is_error and self._make_room(span)):
            self._leave_out(span)
            return
        self._places.add(span.id)
        if span.parent_id is not None:
            self._parents.add(span.parent_id)
        self._waiting.append(span)
        self.size += span.size

    def take(self) -> list[SpanText]:
        """Removes and returns the finished spans."""
        taken, self._waiting, self.size = self._waiting, [], 0
        return taken

    def _make_room(self, span: SpanText) -> bool:
        for index in range(len(self._waiting) - 1, -1, -1):
            victim = self._waiting[index]
            if not (victim.is_error or victim.id in self._parents or victim.id == span.parent_id):
                del self._waiting[index]
                self._places.discard(victim.id)
                self.size -= victim.size
                self._leave_out(victim)
                return True
        return False

    def _leave_out(self, span: SpanText) -> None:
        self.left_out[span.kind] = self.left_out.get(span.kind, 0) + 1
