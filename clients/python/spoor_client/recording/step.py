"""
The steps of a trace: the common base of traces and spans, and spans themselves.

One step of a client is current: the next step becomes its child. Coroutines inherit the current step, and
`context_executor` passes it to threads.
"""

from __future__ import annotations

import functools
import html
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from .. import document
from ..clock import Clock, Time, nanoseconds_of, timestamp
from ..document import DOCUMENT_BUDGET, SpanText, fields_text, short_text
from ..values import Redact, describe_error, redacted_text, scalar_of, write

#: Error message of a span that was not ended, or whose stream was not read.
NOT_ENDED = "not ended"
NOT_READ = "not read to its end"

_TOKENS = {"inputTokens": "input_tokens", "outputTokens": "output_tokens", "totalTokens": "total_tokens"}

Self = TypeVar("Self", bound="Step")
S = TypeVar("S", bound="Step")
P = ParamSpec("P")


class Owner(Protocol):
    """The parts of its trace that a span needs."""

    id: str
    pid: int
    clock: Clock

    @property
    def context(self) -> Context: ...

    @property
    def redact(self) -> Redact | None: ...

    @property
    def is_of_this_process(self) -> bool: ...

    @property
    def is_ended(self) -> bool: ...

    @property
    def url(self) -> str: ...

    @property
    def span_attributes(self) -> Mapping[str, Any]: ...

    def opened(self, span: Span) -> None: ...

    def parent_of(self, span: Span) -> str | None: ...

    def closed(self, span: Span, text: SpanText) -> None: ...

    def end_like(self, span: Span, error: BaseException | None) -> None: ...

    def add_score(self, score: Score) -> None: ...

    def share(self, span_id: str | None) -> str: ...

    def dropped(self, step: Step) -> None: ...

    def problem(self, text: str) -> None: ...


class Reading(Protocol):
    """The reading of a stream whose span ends with it."""

    #: Whether the application has abandoned or released the stream.
    is_left: bool

    def stop(self) -> None:
        """Ends the span with what was read."""


class Score(NamedTuple):
    name: str
    value: float | bool | str
    comment: str | None
    span_id: str | None


def new_id(length: int) -> str:
    """
    Returns a random id of this many bytes, which is also unique after a fork. All-zero ids are invalid in W3C Trace
    Context.
    """
    while True:
        text = os.urandom(length).hex()
        if text.strip("0"):
            return text


def shown(value: object) -> str:
    """Returns a wrong value as a problem shows it."""
    try:
        return repr(value)[:50]
    except Exception:
        return type(value).__name__


def is_kind(kind: object) -> bool:
    return isinstance(kind, str) and kind in document.KINDS


def wrong_kind(kind: object) -> str:
    return f"kind must be one of {', '.join(sorted(document.KINDS))}, not {shown(kind)}"


def time_or_now(given: Time | None, clock: Clock, name: str, problem: Callable[[str], None]) -> int:
    """Returns a time from the application. A time that cannot be read is reported."""
    found = nanoseconds_of(given)
    if found is None and given is not None:
        problem(
            f"{name} must be a datetime, ISO 8601, or seconds or milliseconds since 1970, not {shown(given)}: "
            "the time of the call is recorded instead"
        )
    return clock.now() if found is None else found


def harmless(method: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """Reports errors in a method instead of raising them, because the application must run even without its traces."""

    @functools.wraps(method)
    def call(step: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(step, *args, **kwargs)
        except Exception as error:
            step.trace.problem(f"{method.__name__} of {step.name!r} failed: {type(error).__name__}: {error}")

    return call


class Step:
    """The common base of traces and spans."""

    trace: Owner
    id: str
    name: str
    _status: document.Status | None = None
    _provider: str | None = None
    _model: str | None = None
    _cost: float | None = None

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._usage: dict[str, int] = {}
        #: Usage of the steps within this step. It counts if this step has no usage of its own.
        self._usage_below: dict[str, int] = {}
        self._cost_below: float | None = None
        self._entered: tuple[Step | None, Token[Step | None]] | None = None
        self._cuts = 0

    # Recorded values.

    def set_input(self, value: Any) -> None:
        self._set_value("input", value)

    def set_output(self, value: Any) -> None:
        self._set_value("output", value)

    @harmless
    def set_status(self, status: document.Status) -> None:
        if status in document.STATUSES:
            self._status = status
        else:
            self.trace.problem(f"status must be error, ok or unset, not {shown(status)}")

    @harmless
    def set_model(self, model: str | None, provider: str | None = None) -> None:
        if model is not None:
            self._model = short_text(redacted_text(self.trace.redact, "model", model), document.MAX_TEXT)
        if provider is not None:
            self._provider = short_text(provider, document.MAX_TEXT)

    @harmless
    def set_usage(
        self,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        total_tokens: int | None = None,
        cost_usd: float | None = None,
    ) -> None:
        given: dict[str, int | None]
        given = {"inputTokens": input_tokens, "outputTokens": output_tokens, "totalTokens": total_tokens}
        usage = document.usage_of(given)
        self._usage.update(usage)
        for field, name in _TOKENS.items():
            if given[field] is not None and field not in usage:
                self._reject(name, f"an integer that is not negative, not {shown(given[field])}")
        cost = scalar_of(cost_usd)
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < float("inf"):
            self._cost = float(cost)
        elif cost is not None:
            self._reject("cost_usd", f"a number that is not negative, not {shown(cost)}")

    def _reject(self, name: str, rule: str, verb: str = "it is") -> None:
        self.trace.problem(f"{name} must be {rule}: {verb} not recorded")

    def _members(self, name: str, given: Any) -> Mapping[str, Any]:
        """Returns the members of a dictionary that an application has passed. Another value is reported."""
        if isinstance(given, Mapping):
            return given
        # The value may be secret, so it is not shown.
        self._reject(name, f"a dictionary, not {type(given).__name__}", "it is" if name == "metadata" else "they are")
        return {}

    def record_error(self, error: BaseException) -> None:
        """Records an error of the step, without ending the step."""
        raise NotImplementedError

    def score(self, name: str, value: float | bool | str, comment: str | None = None) -> None:
        raise NotImplementedError

    def _set_value(self, name: str, value: Any) -> None:
        written = write(value, DOCUMENT_BUDGET, self.trace.redact, name)
        self._values[name] = written.text
        self._cuts += written.cuts

    def drop(self) -> None:
        """Called when the step will not be ended."""
        raise NotImplementedError

    def set_text(self, name: str, text: str) -> None:
        """Sets the JSON of the input or the output."""
        self._values[name] = text

    def status_or(self, status: document.Status) -> document.Status:
        return self._status or status

    # The parts of the recorded step.

    @property
    def is_ended(self) -> bool:
        raise NotImplementedError

    def add_below(self, usage: dict[str, int], cost: float | None) -> None:
        """Adds the usage of a step within this step. The caller must hold the trace's lock."""
        document.add_usage(self._usage_below, usage)
        if cost is not None:
            self._cost_below = (self._cost_below or 0.0) + cost

    @property
    def usage(self) -> tuple[dict[str, int], float | None]:
        cost = self._cost if self._cost is not None else self._cost_below
        return self._usage or self._usage_below, cost

    @property
    def has_input(self) -> bool:
        return "input" in self._values

    @property
    def has_output(self) -> bool:
        return "output" in self._values

    def start_span(
        self,
        name: str,
        *,
        kind: document.Kind = "custom",
        input: Any = None,
        model: str | None = None,
        provider: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        started_at: Time | None = None,
    ) -> Span:
        """
        Starts a span of this step, which the caller must end. The span becomes current only in a `with` statement.
        """
        span = Span(self.trace, self, name, kind, started_at)
        if input is not None:
            span.set_input(input)
        span.set_model(model, provider)
        for each in (self.trace.span_attributes, attributes):
            if each:
                span.set_attributes(each)
        return span

    span = start_span

    @property
    def traceparent(self) -> str:
        """Returns a `traceparent` header that lets other services' spans join this step."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        """Returns the address of the trace in the dashboard."""
        return self.trace.url

    def __repr__(self) -> str:
        status = self._status or ("unset" if self.is_ended else "running")
        return f"<{type(self).__name__} {self.name!r} {status} {self.url}>"

    def _repr_html_(self) -> str:
        """Notebooks show this."""
        status = self._status or ("unset" if self.is_ended else "running")
        kind = type(self).__name__.lower()
        return f'{kind} <a href="{html.escape(self.url)}">{html.escape(self.name)}</a> ({status})'

    # The end of the step.

    def end(
        self,
        *,
        output: Any = None,
        status: document.Status | None = None,
        error: BaseException | None = None,
        ended_at: Time | None = None,
    ) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        self._entered = self.trace.context.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if self._entered is not None:
            self.trace.context.leave(*self._entered)
            self._entered = None
        if error is None:
            self.end(status=self._status or "ok")
        elif isinstance(error, (GeneratorExit, SystemExit)):
            self.end(status=self._status or "unset")
        else:
            self.end(error=error)

    async def __aenter__(self: Self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, stack)


class Context:
    """
    The current step of one client. Clients of several projects in one process do not see each other's steps.
    """

    def __init__(self) -> None:
        self._variable: ContextVar[Step | None] = ContextVar("spoor_current", default=None)

    def current(self) -> Step | None:
        """
        Also returns None in a process that was forked while a trace was current. That trace belongs to the parent
        process, which ends and sends it.
        """
        step = self._variable.get()
        return step if step is not None and step.trace.pid == os.getpid() else None

    def enter(self, step: Step) -> tuple[Step | None, Token[Step | None]]:
        before = self._variable.get()
        return before, self._variable.set(step)

    def leave(self, before: Step | None, token: Token[Step | None]) -> None:
        try:
            self._variable.reset(token)
        except ValueError:  # This is not the context that was entered, as in finalisers of generators.
            self._variable.set(before)


@contextmanager
def within(step: Step) -> Iterator[None]:
    context = step.trace.context
    entered = context.enter(step)
    try:
        yield
    finally:
        context.leave(*entered)


class Span(Step):
    def __init__(
        self,
        trace: Owner,
        parent: Step,
        name: str,
        kind: document.Kind = "custom",
        started_at: Time | None = None,
    ) -> None:
        super().__init__()
        self.trace = trace
        self.id = new_id(8)
        self.parent = parent
        self.name = short_text(redacted_text(trace.redact, "span_name", name), document.MAX_NAME) or "span"
        self.kind: document.Kind = kind if is_kind(kind) else "custom"
        self._attributes: dict[str, Any] = {}
        self._attributes_text: str | None = None
        self._events: list[str] = []
        self._is_ended = False
        #: Whether a trace was started for this span, which ends with the span.
        self.has_own_trace = False
        self.reading: Reading | None = None
        if self.kind != kind:
            trace.problem(f"{wrong_kind(kind)}: custom is recorded instead")
        self.started_at = self.ended_at = time_or_now(started_at, trace.clock, "started_at", trace.problem)
        trace.opened(self)

    @harmless
    def set_kind(self, kind: document.Kind) -> None:
        if is_kind(kind):
            self.kind = kind
        else:
            self.trace.problem(wrong_kind(kind))

    @harmless
    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        self._attributes.update(self._members("attributes", attributes))
        written = write(self._attributes, DOCUMENT_BUDGET, self.trace.redact, "attributes")
        self._attributes_text = written.text

    @harmless
    def add_event(self, name: str, attributes: Mapping[str, Any] | None = None) -> None:
        if len(self._events) >= document.MAX_EVENTS:
            # The last events say how the span ended.
            self._events.pop(0)
            self._cuts += 1
        fields = {
            "name": short_text(redacted_text(self.trace.redact, "event_name", name), document.MAX_NAME) or "event",
            "timestamp": timestamp(self.trace.clock.now()),
        }
        text = fields_text(fields)
        if attributes is not None:
            members = self._members("attributes", attributes)
            written = write(members, document.EVENT_BUDGET, self.trace.redact, "attributes")
            text += f',"attributes":{written.text}'
            self._cuts += written.cuts
        self._events.append(f"{{{text}}}")

    @harmless
    def record_error(self, error: BaseException) -> None:
        self._status = "error"
        said = describe_error(error)
        self.add_event(
            "exception",
            {
                "exception.type": said["name"],
                "exception.message": said["message"],
                "exception.stacktrace": said["stack"],
            },
        )

    @harmless
    def score(self, name: str, value: float | bool | str, comment: str | None = None) -> None:
        self.trace.add_score(Score(name, value, comment, self.id))

    @harmless
    def end(
        self,
        *,
        output: Any = None,
        status: document.Status | None = None,
        error: BaseException | None = None,
        ended_at: Time | None = None,
    ) -> None:
        """Ends the span. Later calls do nothing."""
        if self._is_ended or not self.trace.is_of_this_process:
            return
        self._is_ended = True
        if output is not None:
            self.set_output(output)
        if error is not None:
            self.record_error(error)
        if status is not None:
            self.set_status(status)
        self.ended_at = max(self.started_at, time_or_now(ended_at, self.trace.clock, "ended_at", self.trace.problem))
        self.reading = None
        self.trace.closed(self, self._text())
        if self.has_own_trace:
            self.trace.end_like(self, error)

    def _text(self) -> SpanText:
        parent_id = self.trace.parent_of(self)
        head = fields_text(
            {
                "id": self.id,
                "parentSpanId": parent_id,
                "name": self.name,
                "kind": self.kind,
                "status": self.status,
                "startedAt": timestamp(self.started_at),
                "endedAt": timestamp(self.ended_at),
                "provider": self._provider,
                "model": self._model,
                "usage": self._usage or None,
                "costUsd": self._cost,
            }
        )
        values = dict(self._values)
        if self._attributes_text is not None:
            values["attributes"] = self._attributes_text
        text = SpanText(head, values, self._events, self.id, parent_id, self.kind, self._status == "error")
        if text.size > DOCUMENT_BUDGET:
            self._cuts += text.shrink(DOCUMENT_BUDGET)
        return text

    @property
    def is_ended(self) -> bool:
        return self._is_ended

    @property
    def model(self) -> tuple[str | None, str | None]:
        return self._model, self._provider

    @property
    def traceparent(self) -> str:
        return self.trace.share(self.id)

    @property
    def cuts(self) -> int:
        return self._cuts

    @property
    def values(self) -> dict[str, str]:
        return dict(self._values)

    @property
    def status(self) -> document.Status:
        return self._status or "unset"

    def __del__(self) -> None:
        # Nothing can end the span any longer, but it is still recorded.
        if not getattr(self, "_is_ended", True):
            self.trace.dropped(self)

    def drop(self) -> None:
        if self.reading is not None:
            self.reading.stop()
        if not self._is_ended:
            self.add_event(NOT_ENDED)
            self.end(status=self._status or "unset")

    def left(self, is_freed: bool) -> None:
        """
        Called by finalisers when the span's stream is abandoned. The span ends with its trace, or soon if it is freed.
        """
        if not self._is_ended and (is_freed or self.trace.is_ended):
            self.trace.dropped(self)

    def settle(self) -> None:
        """Ends the span if its stream has been abandoned."""
        if self.reading is not None and self.reading.is_left:
            self.reading.stop()
