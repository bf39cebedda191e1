"""The reader of calls that have no streams."""

from __future__ import annotations

from .answer import Answer, Content


class Unstreamed:
    def read(self, event: Content) -> None: ...

    def answer(self) -> Answer:
        return Answer()
