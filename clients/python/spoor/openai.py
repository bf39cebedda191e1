"""
Records the calls of a client of OpenAI's library: chat completions, responses and embeddings, synchronous or not.
Streams are read along, and reach the application as they are. The library itself is not imported here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Protocol

from .document import Kind
from .openai_answers import Answer, answer_of, gather
from .recording.step import NOT_READ, Span

#: What a call is told of transport, and not of the model.
_NOT_INPUT = frozenset(("extra_headers", "extra_query", "extra_body", "timeout", "stream", "stream_options"))
_CALLS: tuple[tuple[str, tuple[str, ...], Kind], ...] = (
    ("chat.completions", ("create", "parse"), "llm"),
    ("responses", ("create", "parse"), "llm"),
    ("embeddings", ("create",), "embedding"),
)


class Client(Protocol):
    def span(self, name: str, *, kind: Kind) -> Span: ...


def wrap(client: Client, openai: Any) -> None:
    """Puts recording functions in the place of this client's own; others' are as they were."""
    for path, names, kind in _CALLS:
        resource = openai
        for part in path.split("."):
            resource = getattr(resource, part, None)
        for name in names:
            function = getattr(resource, name, None)
            if callable(function) and not hasattr(function, "_spoor"):
                recording = _recording(client, function, f"openai.{path}", kind)
                recording._spoor = True  # type: ignore[attr-defined]
                setattr(resource, name, recording)


def _recording(client: Client, function: Callable[..., Any], name: str, kind: Kind) -> Callable[..., Any]:
    def begin(kwargs: Mapping[str, Any]) -> Span:
        span = client.span(name, kind=kind)
        span.set_model(str(kwargs.get("model", "unknown")), "openai")
        span.set_input({key: value for key, value in kwargs.items() if key not in _NOT_INPUT and _is_given(value)})
        return span

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        span = begin(kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            span.end(error=error)
            raise
        if inspect.isawaitable(result):
            return _await(result, span, kind)
        return _finish(result, span, kind)

    return call


def _is_given(value: Any) -> bool:
    """The library has objects of its own for what is left out."""
    return type(value).__name__ not in ("NotGiven", "Omit")


async def _await(awaitable: Any, span: Span, kind: Kind) -> Any:
    try:
        result = await awaitable
    except BaseException as error:
        span.end(error=error)
        raise
    return _finish(result, span, kind)


def _finish(result: Any, span: Span, kind: Kind) -> Any:
    inner = getattr(result, "_iterator", None)
    if inner is None:
        try:
            _end(span, answer_of(result, kind))
        except Exception as error:  # Another version of the library: the call itself has gone well.
            span.set_attributes({"spoor.unread": repr(error)})
            span.end(status="ok")
        return result
    # The stream stays what it is; what it reads from is read along.
    reading = _Reading(span)
    result._iterator = _AsyncTee(inner, reading) if hasattr(inner, "__anext__") else _Tee(inner, reading)
    close = result.close
    result.close = _closing_async(close, reading) if inspect.iscoroutinefunction(close) else _closing(close, reading)
    return result


def _end(span: Span, answer: Answer) -> None:
    if answer.model:
        span.set_model(answer.model, "openai")
    span.set_usage(answer.input_tokens, answer.output_tokens, answer.total_tokens)
    if answer.is_failed:
        span.set_status("error")
    span.end(output=answer.output, status=span.status_or("ok"))


class _Reading:
    """
    The events of a stream, and what becomes of its span. Where nobody reads on, the span is collected with the stream,
    and says so itself.
    """

    def __init__(self, span: Span) -> None:
        self.span = span
        self._events: list[Any] = []

    def read(self, event: Any) -> None:
        self._events.append(event)

    def end(self, error: BaseException | None = None, is_whole: bool = True) -> None:
        if self.span.is_ended:
            return
        try:
            answer = gather(self._events)
        except Exception as trouble:
            self.span.set_attributes({"spoor.unread": repr(trouble)})
            answer = Answer()
        if error is not None:
            self.span.record_error(error)
        elif not is_whole:
            self.span.add_event(NOT_READ)
            self.span.set_status("unset")
        _end(self.span, answer)


class _Tee:
    def __init__(self, inner: Iterator[Any], reading: _Reading) -> None:
        self._inner = inner
        self._reading = reading

    def __iter__(self) -> _Tee:
        return self

    def __next__(self) -> Any:
        try:
            event = next(self._inner)
        except StopIteration:
            self._reading.end()
            raise
        except BaseException as error:
            self._reading.end(error)
            raise
        self._reading.read(event)
        return event

    def close(self) -> None:
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()
        self._reading.end(is_whole=False)


class _AsyncTee:
    def __init__(self, inner: AsyncIterator[Any], reading: _Reading) -> None:
        self._inner = inner
        self._reading = reading

    def __aiter__(self) -> _AsyncTee:
        return self

    async def __anext__(self) -> Any:
        try:
            event = await self._inner.__anext__()
        except StopAsyncIteration:
            self._reading.end()
            raise
        except BaseException as error:
            self._reading.end(error)
            raise
        self._reading.read(event)
        return event

    async def aclose(self) -> None:
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()
        self._reading.end(is_whole=False)


def _closing(close: Callable[[], None], reading: _Reading) -> Callable[[], None]:
    def closing() -> None:
        try:
            close()
        finally:
            reading.end(is_whole=False)

    return closing


def _closing_async(close: Callable[[], Any], reading: _Reading) -> Callable[[], Any]:
    async def closing() -> None:
        try:
            await close()
        finally:
            reading.end(is_whole=False)

    return closing
