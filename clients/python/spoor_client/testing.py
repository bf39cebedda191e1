"""
Keeps traces in memory, for tests of applications. The fixture `spoor_traces` of pytest does the same for each test that
uses it:

    def test_answer(spoor_traces):
        answer("Where is my order?")
        assert spoor_traces.one("answer").output == "It is on its way."
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from . import default
from .client import Spoor
from .document import fields_text, trace_body
from .recording.trace import Recorder, Trace
from .sending.delivery import PartKind
from .sending.result import Result


@dataclass
class RecordedSpan:
    name: str
    kind: str
    status: str
    input: Any
    output: Any
    attributes: dict[str, Any]
    model: str | None
    usage: dict[str, int]
    events: list[dict[str, Any]]
    parent: str | None


@dataclass
class RecordedTrace:
    id: str
    name: str
    status: str
    input: Any
    output: Any
    metadata: dict[str, Any]
    tags: list[str]
    session_id: str | None
    user_id: str | None
    spans: list[RecordedSpan] = field(default_factory=list)
    scores: dict[str, Any] = field(default_factory=dict)

    def span(self, name: str) -> RecordedSpan:
        """Returns the only span with this name."""
        return _only(self.spans, name, "span")


class Traces(list[RecordedTrace]):
    """The traces that have ended, in that order."""

    def __init__(self) -> None:
        super().__init__()
        #: What the client reports, such as scores that the server would reject.
        self.problems: list[str] = []

    def one(self, name: str) -> RecordedTrace:
        """Returns the only trace with this name."""
        return _only(self, name, "trace")


R = TypeVar("R", RecordedSpan, RecordedTrace)


def _only(items: list[R], name: str, what: str) -> R:
    found = [item for item in items if item.name == name]
    if len(found) != 1:
        names = ", ".join(item.name for item in items) or "none"
        raise AssertionError(f"{len(found)} {what}s are called {name!r}; recorded: {names}")
    return found[0]


class _Memory:
    """Replaces the sender."""

    def __init__(self) -> None:
        self.traces = Traces()

    def put(self, trace_id: str, name: str, kind: PartKind, body: bytes) -> None:
        said = json.loads(body)
        if kind == "record":
            self.traces.append(_trace_of(said["trace"]))
        for trace in self.traces:
            if kind == "score" and trace.id == trace_id:
                trace.scores[said["name"]] = said["value"]

    def lose(self, trace_id: str, name: str, reason: str) -> None:
        self.problem(f"trace {name!r}: {reason}")

    def problem(self, text: str) -> None:
        self.traces.problems.append(text)

    def flush(self, timeout: float) -> Result:
        return Result(len(self.traces), 0, [], 0, [])

    def wait(self, timeout: float, *, is_patient: bool = True) -> None: ...

    def leave(self, timeout: float) -> None: ...

    def keep(self) -> None: ...

    def start(self) -> None: ...

    def wake(self) -> None: ...

    def after_fork(self) -> None: ...


def _trace_of(said: dict[str, Any]) -> RecordedTrace:
    names = {span["id"]: span["name"] for span in said["spans"]}
    spans = [
        RecordedSpan(
            span["name"],
            span["kind"],
            span["status"],
            span.get("input"),
            span.get("output"),
            span.get("attributes", {}),
            span.get("model"),
            span.get("usage", {}),
            span.get("events", []),
            names.get(span.get("parentSpanId", "")),
        )
        for span in sorted(said["spans"], key=lambda span: str(span["startedAt"]))
    ]
    return RecordedTrace(
        said["id"],
        said["name"],
        said["status"],
        said.get("input"),
        said.get("output"),
        said.get("metadata", {}),
        said.get("tags", []),
        said.get("sessionId"),
        said.get("userId"),
        spans,
    )


class _Trace(Trace):
    """A trace that is passed on whole, regardless of its size and of what joins it."""

    def __init__(self, recorder: Recorder, name: str, **options: Any) -> None:
        super().__init__(recorder, name, **{**options, "is_live": False})

    def finish(self) -> None:
        self.is_finished = True
        head = fields_text({"id": self.id, **self._identity(), **self._fields()})
        body = trace_body(head, self._values, self._metadata_noted, self._spans.take())
        self.recorder.put(self, "record", body)
        self._put_scores()

    def _go_live(self) -> None: ...

    def _put_spans(self) -> None: ...


class _Client(Spoor):
    _trace_class = _Trace


@contextmanager
def recorded(**options: Any) -> Iterator[Traces]:
    """
    Makes the functions of this package record to memory, and yields the traces that have ended. The options are those
    of `spoor_client.Spoor`.
    """
    client = _Client("http://spoor.invalid", "none", spool=False, **{**options, "sample_rate": 1.0})
    memory = _Memory()
    client._sender = memory  # type: ignore[assignment]
    before = default._client
    default._client = client
    try:
        yield memory.traces
    finally:
        default._client = before
