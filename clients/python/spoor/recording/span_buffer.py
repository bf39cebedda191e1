"""
Which spans of a trace are recorded, where there are more than a trace holds. Places go to the spans that begin first,
since a parent begins before its children. A later span that failed takes the place of one that did not fail, has no
children that are recorded, and has not been handed on. Pure.
"""

from __future__ import annotations

from ..document import MAX_SPANS, SpanText


class SpanBuffer:
    def __init__(self, most: int = MAX_SPANS) -> None:
        self._most = most
        self._places: set[str] = set()
        #: Finished, and not handed on.
        self._waiting: list[SpanText] = []
        #: Those that spans which are recorded have as their parents.
        self._parents: set[str] = set()
        #: Bytes of the spans that wait.
        self.size = 0
        #: How many found no place, by kind.
        self.left_out: dict[str, int] = {}

    def enter(self, span_id: str) -> None:
        """A span begins."""
        if len(self._places) < self._most:
            self._places.add(span_id)

    def has(self, span_id: str) -> bool:
        return span_id in self._places

    def add(self, span: SpanText) -> None:
        """A span has ended."""
        if span.id not in self._places and not (span.is_error and self._make_room(span)):
            self._leave_out(span)
            return
        self._places.add(span.id)
        if span.parent_id is not None:
            self._parents.add(span.parent_id)
        self._waiting.append(span)
        self.size += span.size

    def take(self) -> list[SpanText]:
        """The spans that wait, which are handed on."""
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
