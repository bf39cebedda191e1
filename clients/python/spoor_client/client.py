"""The client, which starts traces and sends them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast, overload

from . import document
from .clock import Time
from .evaluating import Evaluation, Judge, evaluate
from .observing import observing
from .parents import Parent, is_export_to, parent_of_headers, parent_of_opentelemetry
from .reads import Reads, Scores, Traces
from .recording.step import Context, Score, Span, Step, shown
from .recording.trace import Trace
from .sending import process_exit
from .sending.connection import Server
from .sending.delivery import PartKind
from .sending.null_sender import NullSender
from .sending.owner import Owner
from .sending.result import Result
from .sending.scores import is_trace_id, score_body
from .sending.sender import MAX_MEMORY_BYTES, Sender
from .sending.spool import DEFAULT_MAX_BYTES, Spool
from .types import KeyDescription, Project
from .values import Redact
from .wrapping.anthropic import wrap_anthropic
from .wrapping.bedrock import wrap_bedrock
from .wrapping.google_genai import wrap_google_genai
from .wrapping.mistral import wrap_mistral
from .wrapping.ollama import wrap_ollama
from .wrapping.openai import wrap_openai

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])

URL_VARIABLE = "SPOOR_URL"
KEY_VARIABLE = "SPOOR_API_KEY"
SPOOL_VARIABLE = "SPOOR_SPOOL"
DEFAULT_URL = "http://127.0.0.1:8787"
DEFAULT_SPOOL = ".spoor"
#: A live trace sends its spans this long after the first of them ended, or when they have this many bytes.
_LIVE_SECONDS = 0.5
_LIVE_BYTES = 64 * 1024
#: An ended trace waits this long for open spans.
OPEN_SPANS_SECONDS = 60.0
_FLUSH_EACH_SECONDS = 5.0
#: Verdicts that have not arrived by then are sent later.
_EVALUATION_SECONDS = 30.0


class Spoor:
    """
    Records to the spoor server at `url`, in the project of `key`. By default, SPOOR_URL gives the address (or
    http://127.0.0.1:8787), and SPOOR_API_KEY gives the key. Without a key, nothing is recorded. That is reported once,
    and the application runs without traces.

    spool: the folder for traces that cannot be sent now. Defaults to SPOOR_SPOOL, then to .spoor. False disables the
        spool. Clients of several projects may share a folder, because each sends only its own traces.
    spool_each: writes every trace to the spool before it is sent, so that even a kill -9 loses nothing.
    live: makes traces visible while they run. Otherwise each trace is sent when it ends, which costs less.
    redact: receives the name and the value of everything that is recorded, and returns the value to record instead. The
        names are those of members of inputs, outputs, metadata and attributes; the index of a list item; "" for keys;
        and trace_name, span_name, event_name, tag, session_id, user_id, model, score_value and score_comment. Ids and
        the names of scores are not passed.
    on_problem: receives a sentence for each loss, and for each problem that delays sending.
    opentelemetry: makes traces started inside an OpenTelemetry span join that span's trace. True by default if
        OpenTelemetry exports to this server (OTEL_EXPORTER_OTLP_ENDPOINT). With another destination, the server would
        store only the client's part of the trace.
    flush_each: makes the end of each trace wait until it is sent, for functions that freeze after their response.
    sample_rate: the share of traces that are recorded, from 0 to 1. A trace is recorded completely or not at all. A
        trace that fails, or has a failed span, is always recorded.
    capture_input, capture_output: False records no arguments and results of observed functions and model calls. Values
        that the application sets itself are recorded.
    """

    _trace_class: type[Trace] = Trace

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        spool: str | os.PathLike[str] | bool | None = None,
        spool_each: bool = False,
        live: bool = False,
        redact: Redact | None = None,
        on_problem: Callable[[str], None] | None = None,
        flush_each: bool = False,
        capture_input: bool = True,
        capture_output: bool = True,
        sample_rate: float = 1.0,
        opentelemetry: bool | None = None,
        memory_bytes: int = MAX_MEMORY_BYTES,
        spool_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        _check_function("redact", redact)
        _check_function("on_problem", on_problem)
        self.context = Context()
        self.redact = redact
        self.captures_input = capture_input
        self.captures_output = capture_output
        mistakes: list[str] = []
        self.sample_rate = _share(sample_rate, "sample_rate", mistakes)
        memory_bytes = _positive(memory_bytes, MAX_MEMORY_BYTES, "memory_bytes", mistakes)
        spool_bytes = _positive(spool_bytes, DEFAULT_MAX_BYTES, "spool_bytes", mistakes)
        self._is_live = live
        self._flush_each = flush_each
        self._begin()
        folder = None if isinstance(spool, bool) else spool
        if spool is None or spool is True:
            folder = os.environ.get(SPOOL_VARIABLE) or DEFAULT_SPOOL
        server = _server_of(url, key)
        self.url = str(url or os.environ.get(URL_VARIABLE) or DEFAULT_URL).strip().rstrip("/")
        self._reads = Reads(server)
        self.traces = Traces(self._reads)
        self.scores = Scores(self._reads)
        self._sender: Sender | NullSender
        self._joins_opentelemetry = (
            not isinstance(server, str) and is_export_to(server.url) if opentelemetry is None else opentelemetry
        )
        if isinstance(server, str):
            self._sender = NullSender(server, on_problem)
        else:
            weak = weakref.ref(self)
            owner = Owner(server)
            kept = None if folder is None else Spool(folder, owner, spool_bytes)
            owner.register(None if kept is None else kept.folder)
            self._sender = Sender(
                server,
                kept,
                is_always_spooled=spool_each,
                on_problem=on_problem,
                tick=lambda: None if (client := weak()) is None else client._tick(),
                max_memory_bytes=memory_bytes,
            )
        for mistake in mistakes:
            self.problem(mistake)
        process_exit.register(self)
        self._sender.start()

    def _begin(self) -> None:
        self._open: weakref.WeakSet[Trace] = weakref.WeakSet()
        self._dropped: deque[Step] = deque()
        self._drop_lock = threading.RLock()
        #: Live traces with spans to send, and traces that wait for open spans, each with its time.
        self._times_lock = threading.RLock()
        self._with_spans: dict[Trace, float] = {}
        self._waiting: dict[Trace, float] = {}

    # Methods for applications.

    def trace(
        self,
        name: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        tags: Iterable[str] | None = (),
        input: Any = None,
        metadata: Mapping[str, Any] | None = None,
        live: bool | None = None,
        parent: Parent | None = None,
        started_at: Time | None = None,
        span_attributes: Mapping[str, Any] | None = None,
    ) -> Trace:
        """
        Starts a trace for use in a `with` (or `async with`) statement, which ends the trace. `parent` is a span of
        another service that the trace joins (`from_headers`). `started_at` is the start time; the default is now.
        Every span of the trace gets the `span_attributes`.
        """
        process_exit.prepare_process()
        if parent is not None and not isinstance(parent, Parent):
            # Headers may be secret, so the value is not shown.
            given = type(parent).__name__
            self.problem(f"parent must be a result of from_headers, not {given}: the trace has no parent")
            parent = None
        return self._trace_class(
            self,
            name,
            session_id=session_id,
            user_id=user_id,
            tags=tags,
            input=input,
            metadata=metadata,
            is_live=self._is_live if live is None else live,
            parent=parent or (parent_of_opentelemetry() if self._joins_opentelemetry else None),
            started_at=started_at,
            span_attributes=span_attributes,
        )

    #: Starts a trace that the caller must end (`end`). The trace does not become current.
    start = trace

    def span(
        self,
        name: str,
        *,
        kind: document.Kind = "custom",
        input: Any = None,
        model: str | None = None,
        provider: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Span:
        """
        Starts a span of the current step, for use in a `with` statement. If no trace is current, starts a trace for the
        span, which ends with the span.
        """
        current = self.current()
        parent = self.trace(name) if current is None else current
        span = parent.start_span(name, kind=kind, input=input, model=model, provider=provider, attributes=attributes)
        span.has_own_trace = current is None
        return span

    @overload
    def observe(self, function: F, /) -> F: ...

    @overload
    def observe(
        self,
        *,
        name: str | None = None,
        kind: document.Kind = "custom",
        capture_input: bool = True,
        capture_output: bool = True,
    ) -> Callable[[F], F]: ...

    def observe(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """
        Records each call of a function, as a span or, if no trace is current, as a trace. The arguments are the input,
        and the result is the output. For coroutines, generators and asynchronous generators, the step ends when they
        end.
        """
        return observing(lambda: self, function, **options)

    def current(self) -> Step | None:
        """Returns the current trace or span."""
        return self.context.current()

    def wrap_openai(self, openai: C) -> C:
        """
        Records an OpenAI client's calls, and returns the client. Covers chat completions, responses and
        embeddings, including their tokens. Streams are recorded as they are read, and not changed. The tokens of
        streamed chats are recorded only if the request has `stream_options={"include_usage": True}`.
        """
        wrap_openai(self, openai)
        return openai

    def wrap_anthropic(self, anthropic: C) -> C:
        """
        Records an Anthropic client's calls, and returns the client. Covers messages and message streams.
        """
        wrap_anthropic(self, anthropic)
        return anthropic

    def wrap_google_genai(self, genai: C) -> C:
        """Records a google-genai client's generated content and embeddings, and returns the client."""
        wrap_google_genai(self, genai)
        return genai

    def wrap_mistral(self, mistral: C) -> C:
        """Records a Mistral client's chats, completions and embeddings, and returns the client."""
        wrap_mistral(self, mistral)
        return mistral

    def wrap_ollama(self, ollama: C) -> C:
        """Records the calls of an Ollama client, or of the module `ollama` itself, and returns it."""
        wrap_ollama(self, ollama)
        return ollama

    def wrap_bedrock(self, bedrock: C) -> C:
        """Records `converse` and `converse_stream` of `boto3.client("bedrock-runtime")`, and returns the client."""
        wrap_bedrock(self, bedrock)
        return bedrock

    def score(
        self,
        trace_id: str,
        name: str,
        value: float | bool | str,
        comment: str | None = None,
        span_id: str | None = None,
    ) -> None:
        """Adds a score to a trace. Like a trace, the score is sent in the background, with retries."""
        process_exit.prepare_process()
        if is_trace_id(trace_id):
            self._put_score(trace_id.lower(), "score", Score(name, value, comment, span_id))
        else:
            self._sender.lose(
                str(trace_id), "score", f"score: a trace id has 32 hexadecimal characters, not {trace_id!r}"
            )

    def from_headers(self, headers: Mapping[str, str] | Iterable[tuple[object, object]]) -> Parent | None:
        """Returns the span that the request's headers name: `trace(…, parent=spoor.from_headers(request.headers))`."""
        return parent_of_headers(headers)

    def headers(self) -> dict[str, str]:
        """Returns headers for a request to another service. That service's spans then join the current step."""
        current = self.current()
        return {} if current is None else {"traceparent": current.traceparent}

    def evaluate(
        self,
        judge: Judge,
        *,
        name: str,
        concurrency: int = 4,
        follow: bool = False,
        stop: threading.Event | None = None,
        **filters: Any,
    ) -> Evaluation:
        """
        Judges traces with a function, and stores its verdicts as scores of this name. `judge` receives a trace with its
        spans and scores, and returns a value, a `Verdict`, or None. `filters` are those of `traces.all`. Running
        traces, and traces with a score of this name, are skipped, so an interrupted evaluation continues when it is run
        again. With `follow`, new traces are judged as well, until `stop` is set.
        """
        evaluation = evaluate(
            self, judge, name=name, concurrency=concurrency, follow=follow, stop=stop, filters=filters
        )
        self._sender.wait(_EVALUATION_SECONDS)
        return evaluation

    def flush(self, timeout: float = 30.0) -> Result:
        """Waits until the server has responded to everything that has ended. The result states what is not stored."""
        self._drop()
        for trace in list(self._open):
            trace.settle()
        self._put_live_spans()
        result = self._sender.flush(timeout)
        with self._times_lock:
            waiting = sum(not trace.is_finished for trace in self._waiting)
        return dataclasses.replace(result, kept=result.kept + waiting)

    def project(self) -> Project:
        """Returns the key's project, with the amount of data stored in it."""
        return cast(Project, self._reads.ask("GET", "/api/v1/project"))

    def key(self) -> KeyDescription:
        """Returns the project, environment and scopes of the key."""
        return cast(KeyDescription, self._reads.ask("GET", "/api/v1/key"))

    # Methods for traces.

    def put(self, trace: Trace, kind: PartKind, body: bytes) -> None:
        self._sender.put(trace.id, trace.name, kind, body)

    def put_score(self, trace: Trace, score: Score) -> None:
        self._put_score(trace.id, trace.name, score)

    def _put_score(self, trace_id: str, name: str, score: Score) -> None:
        try:
            body = score_body(*score, self.redact)
        except ValueError as error:
            self._sender.lose(trace_id, name, f"score: {error}")
        else:
            self._sender.put(trace_id, name, "score", body)

    def problem(self, text: str) -> None:
        self._sender.problem(text)

    def started(self, trace: Trace) -> None:
        self._open.add(trace)

    def ended(self, trace: Trace) -> None:
        if self._flush_each:
            self._sender.wait(_FLUSH_EACH_SECONDS, is_patient=False)

    def dropped(self, step: Step) -> None:
        self._dropped.append(step)
        # At the end of the process, modules may already be gone. The exit handler drops the step.
        with contextlib.suppress(Exception):
            self._sender.wake()

    def waits_for_spans(self, trace: Trace) -> None:
        with self._times_lock:
            self._waiting[trace] = time.monotonic() + OPEN_SPANS_SECONDS
        self._sender.wake()

    def has_spans(self, trace: Trace, size: int) -> None:
        if size >= _LIVE_BYTES:
            trace.put_spans()
            return
        with self._times_lock:
            self._with_spans.setdefault(trace, time.monotonic() + _LIVE_SECONDS)
        self._sender.wake()

    # Background work.

    def _tick(self) -> float | None:
        self._drop()
        now = time.monotonic()
        for trace in self._due(self._with_spans, now):
            trace.put_spans()
        for trace in self._due(self._waiting, now):
            trace.give_up()
        with self._times_lock:
            times = [*self._with_spans.values(), *self._waiting.values()]
        return max(min(times) - now, 0.01) if times else None

    def _due(self, times: dict[Trace, float], now: float) -> list[Trace]:
        with self._times_lock:
            due = [trace for trace, at in times.items() if at <= now or trace.is_finished]
            for trace in due:
                del times[trace]
        return due

    def _drop(self) -> None:
        # A flush waits while another thread flushes, but not forever: a signal handler may have interrupted that
        # thread.
        is_alone = self._drop_lock.acquire(timeout=1)
        try:
            while self._dropped:
                self._dropped.popleft().drop()
        except IndexError:  # Another thread removed it first.
            pass
        finally:
            if is_alone:
                self._drop_lock.release()

    def _put_live_spans(self) -> None:
        for trace in list(self._open):
            if trace.is_live:
                trace.put_spans()

    def close(self, timeout: float = 5.0) -> Result:
        """
        Ends running traces, sends for up to `timeout` seconds, and leaves the rest to the spool. A process that ends
        does this automatically.
        """
        self.leave(timeout)
        return self._sender.flush(0)

    def keep(self) -> None:
        """
        Called when the process is about to end. Writes everything to the spool, including running traces in their
        current state.
        """
        self._drop()
        for trace in list(self._open):
            trace.give_up()
        self._sender.keep()

    def leave(self, timeout: float) -> None:
        self._drop()
        for trace in list(self._open):
            trace.give_up()
        self._sender.leave(timeout)

    def after_fork(self) -> None:
        """
        Called in a forked process. The traces belong to the parent process, and locks may be held by threads that exist
        only in the parent process.
        """
        self._begin()
        self._sender.after_fork()


def _server_of(url: str | None, key: str | None) -> Server | str:
    """Returns the server, or the reason why nothing can be sent."""
    if key is not None and not isinstance(key, str):
        return f"the key must be a string, not {type(key).__name__}"
    address = str(url or os.environ.get(URL_VARIABLE) or DEFAULT_URL)
    given = Server(address.strip(), (key or os.environ.get(KEY_VARIABLE) or "").strip())
    return given.obstacle or given


def _check_function(name: str, given: object) -> None:
    if given is not None and not callable(given):
        raise TypeError(f"{name} must be a function, not {shown(given)}")


def _share(given: Any, name: str, mistakes: list[str]) -> float:
    with contextlib.suppress(TypeError, ValueError):
        if 0 <= float(given) <= 1:
            return float(given)
    mistakes.append(f"{name} must be a number from 0 to 1, not {shown(given)}: 1 is used")
    return 1.0


def _positive(given: Any, default: int, name: str, mistakes: list[str]) -> int:
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        if int(given) > 0:
            return int(given)
    mistakes.append(f"{name} must be a positive number, not {shown(given)}: {default} is used")
    return default
