"""
A trace during its recording. Values become JSON when they are set, because the application may change them later. The
trace's body is assembled once, when the trace has ended.

A trace is first running, then ended by the application, then finished, which means that its body is assembled and sent.
An ended trace waits for spans that are still open, such as streams that are read after the function has returned.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from .. import document
from ..clock import Clock, Time, timestamp
from ..document import BODY_BUDGET, DOCUMENT_BUDGET, Notes, SpanText, fields_text, portions, short_text
from ..otlp import export_bodies, root_span
from ..parents import Parent
from ..sending.delivery import PartKind
from ..values import Redact, describe_error, redacted_text, size_of, write
from .span_buffer import SpanBuffer
from .step import Context, Score, Span, Step, harmless, new_id, time_or_now

_METADATA_BUDGET = 200_000
#: A trace becomes live, and sends its finished spans, when they have this many bytes.
_MAX_HELD_BYTES = 2 * BODY_BUDGET
#: A trace that other services' spans join sends its spans when they have this many bytes.
_JOINED_BYTES = 1_000_000


class Recorder(Protocol):
    """The parts of its client that a trace needs."""

    @property
    def context(self) -> Context: ...

    @property
    def redact(self) -> Redact | None: ...

    @property
    def url(self) -> str:
        """The server's address."""
        ...

    @property
    def sample_rate(self) -> float: ...

    def put(self, trace: Trace, kind: PartKind, body: bytes) -> None: ...

    def put_score(self, trace: Trace, score: Score) -> None: ...

    def started(self, trace: Trace) -> None: ...

    def ended(self, trace: Trace) -> None:
        """Called when the application has ended the trace, which may still have open spans."""

    def waits_for_spans(self, trace: Trace) -> None: ...

    def has_spans(self, trace: Trace, size: int) -> None:
        """Called when a live trace has unsent finished spans of `size` bytes."""

    def dropped(self, step: Step) -> None:
        """
        Called when a step is garbage-collected before its end. Another thread drops the step later, without holding a
        lock, because finalisers can interrupt any code.
        """

    def problem(self, text: str) -> None: ...


class Trace(Step):
    def __init__(
        self,
        recorder: Recorder,
        name: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        tags: Iterable[str] | None = (),
        input: Any = None,
        metadata: Mapping[str, Any] | None = None,
        is_live: bool = False,
        parent: Parent | None = None,
        started_at: Time | None = None,
        span_attributes: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.trace = self
        self.recorder = recorder
        self.pid = os.getpid()
        self.id = new_id(16) if parent is None else parent.trace_id
        self._parent_span_id = None if parent is None else parent.span_id
        #: This trace's id as a span. Set if the trace joins an external trace, or if other services' spans join it.
        self._root_id = None if parent is None else new_id(8)
        self.name = self._text("trace_name", name, document.MAX_NAME) or "trace"
        self.clock = Clock()
        #: Whether the trace is recorded if it does not fail. The id decides, so that all parts of a trace agree.
        self._is_sampled = int(self.id[:8], 16) < recorder.sample_rate * 2**32
        #: Attributes of each span of the trace.
        self.span_attributes: Mapping[str, Any] = self._members("span_attributes", span_attributes or {})
        self.is_live = is_live and parent is None and self._is_sampled
        self._is_started = False
        self.started_at = self.ended_at = time_or_now(started_at, self.clock, "started_at", self.problem)
        self._session_id = None if session_id is None else self._text("session_id", session_id)
        self._user_id = None if user_id is None else self._text("user_id", user_id)
        self._tags: list[str] = []
        self._metadata: dict[str, Any] = {}
        self._metadata_text = "{}"
        # The lock is reentrant, because finalisers of spans and signal handlers interrupt arbitrary code.
        self._lock = threading.RLock()
        self._spans = SpanBuffer(document.MAX_SPANS if self.is_live or parent is None else document.MAX_JOINED_SPANS)
        self._open_spans = 0
        #: Open spans that the application still references.
        self._held_spans: weakref.WeakSet[Span] = weakref.WeakSet()
        self._scores: list[Score] = []
        self._notes = Notes()
        self._is_limit_said = False
        self._is_ended = False
        self.is_finished = False
        if isinstance(tags, str):
            tags = [tags]
        if isinstance(tags, Iterable):
            self.add_tags(*tags)
        elif tags is not None:
            self._reject("tags", f"a list of strings, not {type(tags).__name__}", "they are")
        if metadata:
            self.set_metadata(metadata)
        if input is not None:
            self.set_input(input)
        if self.is_live:
            self._put_start(DOCUMENT_BUDGET // 2)
        self._is_started = True
        recorder.started(self)

    def _text(self, name: str, value: Any, longest: int = document.MAX_TEXT) -> str | None:
        return short_text(redacted_text(self.redact, name, value), longest)

    @harmless
    def add_tags(self, *tags: str) -> None:
        every = document.tags_of([*self._tags, *(redacted_text(self.redact, "tag", tag) for tag in tags)])
        self._cuts += max(len(every) - document.MAX_TAGS, 0)
        self._tags = every[: document.MAX_TAGS]

    @harmless
    def set_session(self, session_id: str) -> None:
        if self._may_set("session_id"):
            self._session_id = self._text("session_id", session_id)

    @harmless
    def set_user(self, user_id: str) -> None:
        if self._may_set("user_id"):
            self._user_id = self._text("user_id", user_id)

    @harmless
    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Merges metadata. A new value replaces the previous value of the same name."""
        self._metadata.update(self._members("metadata", metadata))
        written = write(self._metadata, _METADATA_BUDGET, self.recorder.redact, "metadata")
        self._metadata_text = written.text

    @harmless
    def set_input(self, value: Any) -> None:
        if self._may_set("input"):
            super().set_input(value)

    def _may_set(self, what: str) -> bool:
        if self.is_live and self._is_started:
            self.recorder.problem(f"trace {self.name!r} is live or large: set {what} before its start is sent")
            return False
        return True

    @harmless
    def record_error(self, error: BaseException) -> None:
        self._status = "error"
        self.set_metadata({"error": describe_error(error)})

    @harmless
    def score(self, name: str, value: float | bool | str, comment: str | None = None) -> None:
        self.add_score(Score(name, value, comment, None))

    def add_score(self, score: Score) -> None:
        """A score waits until its trace is sent, because the server then knows the trace."""
        if not self.is_of_this_process:
            self.recorder.put_score(self, score)
            return
        with self._lock:
            if not (self.is_finished or self.is_live):
                self._scores.append(score)
                return
        self.recorder.put_score(self, score)

    @property
    def traceparent(self) -> str:
        return self.share(None)

    def share(self, span_id: str | None) -> str:
        if self.is_live:
            self.recorder.problem(f"trace {self.name!r} is live or large, so spans of other services cannot join it")
        else:
            self._join()
        return Parent(self.id, span_id or self._root_id or new_id(8), self._is_sampled).traceparent

    @property
    def context(self) -> Context:
        return self.recorder.context

    @property
    def url(self) -> str:
        """Returns the address of the trace in the dashboard."""
        return f"{self.recorder.url}/app/t/{self.id}"

    @property
    def redact(self) -> Redact | None:
        return self.recorder.redact

    def dropped(self, step: Step) -> None:
        self.recorder.dropped(step)

    def problem(self, text: str) -> None:
        self.recorder.problem(text)

    # Methods for spans.

    @property
    def is_of_this_process(self) -> bool:
        """
        Returns False in a process that was forked while the trace ran, because the parent process sends the trace. Must
        be called before taking the lock, which a thread of the parent process may have held.
        """
        return self.pid == os.getpid()

    def opened(self, span: Span) -> None:
        if not self.is_of_this_process:
            return
        with self._lock:
            self._open_spans += 1
            self._held_spans.add(span)
            if self._spans.is_full and not self._is_limit_said:
                self._exceed()
            self._spans.enter(span.id)

    def _exceed(self) -> None:
        """
        Called when a span begins that the API for whole traces would not accept. The trace is then sent over OTLP,
        which accepts more spans, unless its start has been sent.
        """
        if self._root_id is None and not self.is_live:
            self._join()
            return
        self._is_limit_said = True
        self.recorder.problem(
            f"trace {self.name!r} keeps its first {self._spans.most:,} spans, and failed spans that replace others: "
            "later spans are left out"
        )

    def _join(self) -> None:
        """Makes the trace one that is sent over OTLP, with a span for the trace itself."""
        self._root_id = self._root_id or new_id(8)
        self._spans.most = document.MAX_JOINED_SPANS

    def parent_of(self, span: Span) -> str | None:
        """Returns the nearest ancestor with a slot, so that spans without a slot leave no gap in the tree."""
        with self._lock:
            parent = span.parent
            while isinstance(parent, Span) and not self._spans.has(parent.id):
                parent = parent.parent
            return parent.id if isinstance(parent, Span) else None

    def closed(self, span: Span, text: SpanText) -> None:
        with self._lock:
            self._open_spans -= 1
            self._held_spans.discard(span)
            if self.is_finished:
                self.recorder.problem(f"span {span.name!r} ended after its trace {self.id} was sent")
                return
            self._add_below(span)
            self._notes.cut += span.cuts
            self._spans.add(text)
            if self._is_ended:
                self.ended_at = max(self.ended_at, span.ended_at)
                if self._open_spans == 0:
                    self.finish()
                    return
            if self._spans.size > _MAX_HELD_BYTES:
                # The trace is too large to wait for its status.
                self._is_sampled = True
            if self.is_live:
                self.recorder.has_spans(self, self._spans.size)
            elif self._root_id is not None:
                if self._is_sampled and self._spans.size > _JOINED_BYTES:
                    self.put_spans()
            elif self._spans.size > _MAX_HELD_BYTES:
                self._go_live()

    def _go_live(self) -> None:
        self.is_live = True
        self._put_start(DOCUMENT_BUDGET // 2)
        self._put_scores()
        self.put_spans()

    def _add_below(self, span: Span) -> None:
        above = span.parent
        while isinstance(above, Span) and above.is_ended:
            above = above.parent
        above.add_below(*span.usage)
        if span.kind == "llm" and self._model is None:
            self._model, provider = span.model
            self._provider = self._provider or provider

    @property
    def is_ended(self) -> bool:
        return self._is_ended

    # The end of the trace.

    def end(
        self,
        *,
        output: Any = None,
        status: document.Status | None = None,
        error: BaseException | None = None,
        ended_at: Time | None = None,
    ) -> None:
        """Ends the trace. Later calls do nothing."""
        if not self.is_of_this_process:
            return
        self.settle()
        with self._lock:
            if self._is_ended:
                return
            if output is not None:
                self.set_output(output)
            if error is not None:
                self.record_error(error)
            if status is not None:
                self.set_status(status)
            self._is_ended = True
            self.ended_at = max(self.started_at, time_or_now(ended_at, self.clock, "ended_at", self.problem))
            if self._open_spans == 0:
                self.finish()
            else:
                self.recorder.waits_for_spans(self)
        self.recorder.ended(self)

    def end_like(self, span: Span, error: BaseException | None) -> None:
        """Ends a trace that was started for a span, with the span's input and output."""
        self._take_values(span)
        self.end(error=error, status=span.status)

    def _take_values(self, span: Span) -> None:
        self._values = {**span.values, **self._values}
        self._usage = {}

    def settle(self) -> None:
        """Ends the spans whose streams have been abandoned."""
        if self.is_of_this_process:
            with self._lock:
                for span in list(self._held_spans):
                    span.settle()

    def give_up(self) -> None:
        """
        Finishes the trace in its current state, because the process ends or because its spans have taken too long.
        """
        if not self.is_of_this_process:
            return
        with self._lock:
            if self.is_finished:
                return
            self._notes.spans_not_ended = self._open_spans
            self._notes.is_not_ended = not self._is_ended
            # The open spans are recorded in their current state, and the last of them must not finish the trace.
            self._is_ended = False
            for span in list(self._held_spans):
                if span.has_own_trace:
                    span.has_own_trace = False
                    self._take_values(span)
                span.drop()
            if self._notes.is_not_ended:
                self.ended_at = max(self.started_at, self.clock.now())
            self._is_ended = True
            self.finish()

    def finish(self) -> None:
        """Assembles and sends the body. The caller must hold the lock."""
        self.is_finished = True
        if not (self._is_sampled or self.is_live or self._status == "error" or self._spans.has_errors):
            self._spans = SpanBuffer(0)
            return
        if self.is_live:
            self._put_end(DOCUMENT_BUDGET // 2)
        elif self._root_id is not None:
            self._put_joined(self._root_id)
        else:
            self._put_whole()
        self._put_scores()
        self._spans = SpanBuffer(0)

    def _put_scores(self) -> None:
        scores, self._scores = self._scores, []
        for score in scores:
            self.recorder.put_score(self, score)

    def _fields(self) -> dict[str, Any]:
        usage, cost = self.usage
        return {
            "endedAt": timestamp(self.ended_at),
            "status": self._status or "unset",
            "provider": self._provider,
            "model": self._model,
            "tags": self._tags or None,
            "usage": usage or None,
            "costUsd": cost,
        }

    def _identity(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "startedAt": timestamp(self.started_at),
            "sessionId": self._session_id,
            "userId": self._user_id,
        }

    def _put_whole(self) -> None:
        head = fields_text({"id": self.id, **self._identity(), **self._fields()})
        self._fit(size_of(head))
        sizes = [size_of(text) for text in (head, self._metadata_text, *self._values.values())]
        if sum(sizes) + self._spans.size > BODY_BUDGET:
            # The trace is sent in several requests, like a live trace, so that nothing needs to be cut.
            self.is_live = True
            self._put_start(DOCUMENT_BUDGET)
            self._put_end(DOCUMENT_BUDGET)
        else:
            body = document.trace_body(head, self._values, self._metadata_noted, self._spans.take())
            self.recorder.put(self, "record", body)

    def _put_joined(self, root_id: str) -> None:
        """The trace accepts spans from several senders, so it is sent as OTLP."""
        fields = {**self._identity(), **self._fields()}
        self._fit(0)
        root = root_span(self.id, root_id, self._parent_span_id, fields, self._values, self._metadata_noted)
        for body in export_bodies(self.id, root_id, self._spans.take(), BODY_BUDGET, root):
            self.recorder.put(self, "otlp", body)

    def _fit(self, head: int) -> None:
        """Cuts input and output to the budget of a trace without its spans."""
        room = DOCUMENT_BUDGET - head - size_of(self._metadata_text) - 1_000
        self._notes.cut += document.fit(self._values, room)

    @property
    def _metadata_noted(self) -> str:
        notes = dataclasses.replace(self._notes, cut=self._notes.cut + self._cuts, left_out=self._spans.left_out)
        return document.with_notes(self._metadata_text, notes)

    # Live traces send their start at once, spans as they end, then the end.

    def _put_start(self, budget: int) -> None:
        head = fields_text({"id": self.id, **self._identity(), "tags": self._tags or None})
        values = {"input": self._values["input"]} if "input" in self._values else {}
        self._notes.cut += document.fit(values, budget)
        self.recorder.put(self, "start", document.trace_body(head, values, self._metadata_text, []))

    def put_spans(self) -> None:
        """Sends the spans that have ended so far."""
        if not self.is_of_this_process:
            return
        with self._lock:
            if self.is_finished:
                return
            self._put_spans()

    def _put_spans(self) -> None:
        spans = self._spans.take()
        if self._root_id is None:
            for portion in portions(spans, BODY_BUDGET):
                self.recorder.put(self, "spans", document.spans_body(portion))
        else:
            for body in export_bodies(self.id, self._root_id, spans, BODY_BUDGET):
                self.recorder.put(self, "otlp", body)

    def _put_end(self, budget: int) -> None:
        values = {"output": self._values["output"]} if "output" in self._values else {}
        self._notes.cut += document.fit(values, budget - size_of(self._metadata_text) - 1_000)
        head = fields_text(self._fields())
        if self._spans.size + DOCUMENT_BUDGET > BODY_BUDGET:
            self._put_spans()
        body = document.end_body(head, values, self._metadata_noted, self._spans.take())
        self.recorder.put(self, "end", body)

    def __del__(self) -> None:
        if not getattr(self, "is_finished", True):
            self.recorder.dropped(self)

    def drop(self) -> None:
        self.give_up()
