"""The client of applications that need only one, created on first use."""

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
    """The thread that created the client may have held the lock, and does not exist in this process."""
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
    Creates the client of this module's functions. The options are those of Spoor. A previous client continues to send.
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
    span_attributes: Mapping[str, Any] | None = None,
) -> Trace:
    """Starts a trace for use in a `with` (or `async with`) statement, which ends the trace."""
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
        span_attributes=span_attributes,
    )


#: Starts a trace that the caller must end (`end`). The trace does not become current.
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
    """Starts a span of the current step, for use in a `with` statement."""
    return client().span(name, kind=kind, input=input, model=model, provider=provider, attributes=attributes)


@overload
def observe(function: F, /) -> F: ...


@overload
def observe(
    *, name: str | None = None, kind: Kind = "custom", capture_input: bool = True, capture_output: bool = True
) -> Callable[[F], F]: ...


def observe(function: Any = None, /, **options: Any) -> Any:
    """
    Records each call of a function, as a span or, if no trace is current, as a trace. The arguments are the input, and
    the result is the output. For coroutines, generators and asynchronous generators, the step ends when they end.
    """
    return observing(client, function, **options)


def current() -> Step | None:
    """Returns the current trace or span."""
    return client().current()


def score(
    trace_id: str, name: str, value: float | bool | str, comment: str | None = None, span_id: str | None = None
) -> None:
    """Adds a score to a trace. Like a trace, the score is sent in the background, with retries."""
    client().score(trace_id, name, value, comment, span_id)


def evaluate(judge: Judge, *, name: str, concurrency: int = 4, **options: Any) -> Evaluation:
    """Judges traces with a function, and stores its verdicts as scores of this name (`Spoor.evaluate`)."""
    return client().evaluate(judge, name=name, concurrency=concurrency, **options)


def flush(timeout: float = 30.0) -> Result:
    """Waits until the server has responded to everything that has ended. The result states what is not stored."""
    return client().flush(timeout)


def from_headers(headers: Mapping[str, str] | Iterable[tuple[object, object]]) -> Parent | None:
    """Returns the span that the request's headers name: `trace(…, parent=spoor.from_headers(request.headers))`."""
    return parent_of_headers(headers)


def headers() -> dict[str, str]:
    """Returns headers for a request to another service. That service's spans then join the current step."""
    return client().headers()


def wrap_openai(openai: C) -> C:
    """Records an OpenAI client's calls, and returns the client."""
    return client().wrap_openai(openai)


def wrap_anthropic(anthropic: C) -> C:
    """Records an Anthropic client's calls, and returns the client."""
    return client().wrap_anthropic(anthropic)


def wrap_google_genai(genai: C) -> C:
    """Records a google-genai client's calls, and returns the client."""
    return client().wrap_google_genai(genai)


def wrap_mistral(mistral: C) -> C:
    """Records a Mistral client's calls, and returns the client."""
    return client().wrap_mistral(mistral)


def wrap_ollama(ollama: C) -> C:
    """Records the calls of an Ollama client, or of the module `ollama` itself, and returns it."""
    return client().wrap_ollama(ollama)


def wrap_bedrock(bedrock: C) -> C:
    """Records `converse` and `converse_stream` of `boto3.client("bedrock-runtime")`, and returns the client."""
    return client().wrap_bedrock(bedrock)
