"""The outcome of everything that was passed to the client."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Loss:
    """A trace, or a part of a trace, that will never be stored."""

    trace_id: str
    #: The trace's name.
    name: str
    #: Starts with the kind of the part: record, start, spans, end, otlp or score.
    reason: str


@dataclass(frozen=True)
class Result:
    """The outcome of everything recorded since the client was created in this process."""

    #: Number of traces that the server has confirmed as stored.
    sent: int = 0
    #: Number of traces that are still waiting, in memory or in the spool.
    kept: int = 0
    #: The last thousand losses.
    lost: list[Loss] = field(default_factory=list)
    lost_count: int = 0
    #: The last hundred other problems.
    problems: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether everything that has ended is on the server."""
        return self.kept == 0 and self.lost_count == 0
