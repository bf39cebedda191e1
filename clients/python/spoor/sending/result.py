"""What has become of what was given to the client."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Loss:
    """A trace, or a part of one, that is not stored and will not be."""

    trace_id: str
    #: Of the trace.
    name: str
    #: With the part before it: record, start, spans, end, otlp or score.
    reason: str


@dataclass(frozen=True)
class Result:
    """What became of what was recorded since the client was made in this process."""

    #: Traces that the server has said it stores.
    sent: int = 0
    #: Traces that still wait, in memory or in the spool.
    kept: int = 0
    #: The last thousand of those that are lost.
    lost: list[Loss] = field(default_factory=list)
    lost_count: int = 0
    #: What else was amiss; the last hundred.
    problems: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Everything that has ended is on the server."""
        return self.kept == 0 and self.lost_count == 0
