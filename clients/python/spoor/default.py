"""The client of those who need only one: made at its first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

from .client import Spoor
from .clock import Time
from .document import Kind
from .evaluating import Evaluation, Judge
from .observing import observing
from .parents import Parent, parent_of_headers
from .recording.step import Span, Step
from .recording.trace import Trace
from .sending.result import Result

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C")

_client: Spoor | None = None
_lock = threading.Lock()


def _after_fork() -> None:
    """A thread that made the client may have had the lock, and is not here."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def client() -> Spoor:
    global _client
    if _client is None:
        with _lock:
            if _client is None:
                _client = Spoor()
    return _client


def configure(url: str | None = None, key: str | None = None, **options: Any) -> Spoor:
    """
    Makes the client of this module's functions; the options are those of Spoor. One that was there goes on sending.
    """
    global _client
    made = Spoor(url, key, **options)
    _client = made
    return made


def trace(
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
) -> Trace:
    """Begins a trace, to be used in a `with` (or `async with`), which ends it."""
    return client().trace(
        name,
        session_id=session_id,
        user_id=user_id,
        tags=tags,
        input=input,
        metadata=metadata,
        live=live,
        parent=parent,
        started_at=started_at,
    )


#: Begins a trace that is ended by hand (`end`), and that is not current.
start = trace


def span(
    name: str,
    *,
    kind: Kind = "custom",
    input: Any = None,
    model: str | None = None,
    provider: str | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Span:
    """Begins a span of what is current, to be used in a `with`."""
    return client().span(name, kind=kind, input=input, model=model, provider=provider, attributes=attributes)


@overload
def observe(function: F, /) -> F: ...


@overload
def observe(
    *, name: str | None = None, kind: Kind = "custom", capture_input: bool = True, capture_output: bool = True
) -> Callable[[F], F]: ...


def observe(function: Any = None, /, **options: Any) -> Any:
    """
    Records the calls of a function: a trace where none is current, else a span. Its arguments are the input, its result
    is the output. Coroutines, generators and asynchronous generators end when they have ended.
    """
    return observing(client, function, **options)


def current() -> Step | None:
    """The trace or span that is current."""
    return client().current()


def score(
    trace_id: str, name: str, value: float | bool | str, comment: str | None = None, span_id: str | None = None
) -> None:
    """Gives a trace a score. It is sent as traces are: later, and until it is there."""
    client().score(trace_id, name, value, comment, span_id)


def evaluate(judge: Judge, *, name: str, concurrency: int = 4, **options: Any) -> Evaluation:
    """Has a function judge traces, and gives them its verdicts as scores of this name (`Spoor.evaluate`)."""
    return client().evaluate(judge, name=name, concurrency=concurrency, **options)


def flush(timeout: float = 30.0) -> Result:
    """Waits until the server has answered for everything that has ended, or says what is not there."""
    return client().flush(timeout)


def from_headers(headers: Mapping[str, str] | Iterable[tuple[object, object]]) -> Parent | None:
    """The span that sent a request, as its headers name it: `trace(…, parent=spoor.from_headers(request.headers))`."""
    return parent_of_headers(headers)


def headers() -> dict[str, str]:
    """Headers for a request to another service, whose spans become part of what is current."""
    return client().headers()


def wrap_openai(openai: C) -> C:
    """Records the calls of a client of OpenAI's library, which it returns."""
    return client().wrap_openai(openai)


def wrap_anthropic(anthropic: C) -> C:
    """Records the calls of a client of Anthropic's library, which it returns."""
    return client().wrap_anthropic(anthropic)
