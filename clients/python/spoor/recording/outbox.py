"""What a trace asks of the client that it is recorded by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..sending.delivery import PartKind
from ..values import Redact
from .step import Score, Step

if TYPE_CHECKING:
    from .trace import Trace


class Outbox(Protocol):
    """Where traces go."""

    @property
    def redact(self) -> Redact | None: ...

    def put(self, trace: Trace, kind: PartKind, body: bytes) -> None: ...

    def put_score(self, trace: Trace, score: Score) -> None: ...

    def started(self, trace: Trace) -> None: ...

    def ended(self, trace: Trace) -> None:
        """By the application; whether it is finished as well is another question."""

    def waits_for_spans(self, trace: Trace) -> None: ...

    def has_spans(self, trace: Trace, size: int) -> None:
        """A live trace has finished spans that are not sent yet, of so many bytes."""

    def dropped(self, step: Step) -> None:
        """
        Nobody has the step any more, and it has not ended: it is dropped later, by a thread that holds no lock.
        Finalisers run in the middle of anything.
        """

    def problem(self, text: str) -> None: ...
