"""
Records calls of a provider's library as spans. Functions are replaced on the application's own object. Results keep
their type: a stream remains the library's own stream, and its source is recorded as it is read.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..document import Kind
from ..recording.step import NOT_READ, Span

#: Parameters that concern the transport, and not the model.
_TRANSPORT = frozenset(("extra_headers", "extra_query", "extra_body", "timeout", "stream", "stream_options"))

Content = Mapping[str, Any]


@dataclass
class Answer:
    output: Any = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    is_failed: bool = False


@dataclass(frozen=True)
class Method:
    name: str
    provider: str
    kind: Kind
    #: Names of the parameters that are neither the model nor settings.
    input_names: tuple[str, ...]
    #: Returns the input from these parameters.
    describe: Callable[[Content], Any]
    #: Reads a response.
    read: Callable[[Content], Answer]
    #: Assembles the response from a stream's events, as far as they were read.
    gather: Callable[[Sequence[Content]], Answer]


class Client(Protocol):
    def span(self, name: str, *, kind: Kind) -> Span: ...

    def problem(self, text: str) -> None: ...


def resource_of(library: Any, path: str) -> Any:
    """Returns the object at a path such as `chat.completions`, if the library has it."""
    for name in path.split("."):
        library = getattr(library, name, None)
    return library


def record_calls(client: Client, resource: Any, names: Sequence[str], method: Method) -> None:
    """
    Replaces this object's own functions by recording functions. A function that is already recorded is left unchanged.
    """
    _replace(resource, names, lambda function: _recording(client, function, method))


def record_managers(client: Client, resource: Any, names: Sequence[str], method: Method) -> None:
    """Does the same for functions whose result sends the request when a `with` statement enters it."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return _watch_manager(client, function(*args, **kwargs), kwargs, method)

        return call

    _replace(resource, names, decorate)


def _replace(resource: Any, names: Sequence[str], decorate: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    for name in names:
        function = getattr(resource, name, None)
        if callable(function) and not hasattr(function, "_spoor"):
            recording = decorate(function)
            recording._spoor = True  # type: ignore[attr-defined]
            setattr(resource, name, recording)


def _recording(client: Client, function: Callable[..., Any], method: Method) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        span = _begin(client, kwargs, method)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            span.end(error=error)
            raise
        return _await(result, span, method) if inspect.isawaitable(result) else _finish(result, span, method)

    return call


def _watch_manager(client: Client, manager: Any, kwargs: Content, method: Method) -> Any:
    """The result sends its request by a function, or by awaiting an object."""
    name = next((each for each in vars(manager) if each.endswith("__api_request")), None)
    if name is None:
        client.problem(f"{method.name}: streams of this version of the library are not recorded")
        return manager
    request = getattr(manager, name)
    if callable(request):
        setattr(manager, name, functools.partial(_recording(client, lambda **_: request(), method), **kwargs))
    else:
        setattr(manager, name, _Entering(lambda: _await(request, _begin(client, kwargs, method), method)))
    return manager


class _Entering:
    """The request is sent only when this is awaited, so nothing is recorded if the result is never entered."""

    def __init__(self, ask: Callable[[], Awaitable[Any]]) -> None:
        self._ask = ask

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._ask().__await__()


def _begin(client: Client, kwargs: Content, method: Method) -> Span:
    given = {name: value for name, value in kwargs.items() if name not in _TRANSPORT and _is_given(value)}
    span = client.span(method.name, kind=method.kind)
    span.set_model(str(given.pop("model", "unknown")), method.provider)
    span.set_input(method.describe({name: given.pop(name) for name in method.input_names if name in given}))
    if given:
        span.set_attributes(given)
    return span


def _is_given(value: Any) -> bool:
    """The libraries use special objects for omitted arguments."""
    return type(value).__name__ not in ("NotGiven", "Omit")


async def _await(awaitable: Awaitable[Any], span: Span, method: Method) -> Any:
    try:
        result = await awaitable
    except BaseException as error:
        span.end(error=error)
        raise
    return _finish(result, span, method)


def _finish(result: Any, span: Span, method: Method) -> Any:
    inner = getattr(result, "_iterator", None)
    if inner is None:
        _end(span, method, lambda: _read(result, method))
        return result
    # The stream is unchanged, but its source is replaced to record what is read.
    reading = _Reading(span, method)
    result._iterator = _AsyncTee(inner, reading) if hasattr(inner, "__anext__") else _Tee(inner, reading)
    result.close = _closing(result, reading)
    return result


def _read(result: Any, method: Method) -> Answer:
    # A raw response has no content yet. The application reads it.
    return method.read(_content_of(result)) if hasattr(result, "model_dump") else Answer()


def _content_of(model: Any) -> dict[str, Any]:
    content: dict[str, Any] = model.model_dump(mode="json")
    return content


def _end(span: Span, method: Method, read: Callable[[], Answer]) -> None:
    try:
        answer = read()
    except Exception as error:  # The library has an unknown version. The call itself succeeded.
        span.set_attributes({"spoor.unread": repr(error)})
        answer = Answer()
    if answer.model:
        span.set_model(answer.model, method.provider)
    span.set_usage(answer.input_tokens, answer.output_tokens, answer.total_tokens)
    said = {name: value for name, value in answer.attributes.items() if value is not None}
    if said:
        span.set_attributes(said)
    if answer.is_failed:
        span.set_status("error")
    span.end(output=answer.output, status=span.status_or("ok"))


class _Reading:
    """
    Records the events of a stream, and ends its span. If the application stops reading, the span is garbage-collected
    with the stream, and then ends itself.
    """

    def __init__(self, span: Span, method: Method) -> None:
        self.span = span
        self._method = method
        self._events: list[Any] = []

    def read(self, event: Any) -> None:
        self._events.append(event)

    def end(self, error: BaseException | None = None, is_whole: bool = True) -> None:
        if self.span.is_ended:
            return
        if error is not None:
            self.span.record_error(error)
        elif not is_whole:
            self.span.add_event(NOT_READ)
            self.span.set_status("unset")
        _end(self.span, self._method, self._gather)

    def _gather(self) -> Answer:
        return self._method.gather([_content_of(event) for event in self._events if hasattr(event, "model_dump")])


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


def _closing(stream: Any, reading: _Reading) -> Callable[[], Any]:
    """
    Only a weak reference to the stream is held. Otherwise the stream would not be garbage-collected, and its connection
    would stay open.
    """
    weak = weakref.ref(stream)
    close = type(stream).close

    def closing() -> None:
        try:
            close(weak())
        finally:
            reading.end(is_whole=False)

    async def closing_async() -> None:
        try:
            await close(weak())
        finally:
            reading.end(is_whole=False)

    return closing_async if inspect.iscoroutinefunction(close) else closing


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
