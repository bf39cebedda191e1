"""
Records the result of a call: a whole response, a stream as it is read, or a raw response when the application parses
it.

A stream remains the library's own object. Its source is replaced by one that shows each event to the call's reader. A
span ends when its stream has been read, is closed or freed. If a loop ends with `break`, the application could still
continue reading, so the span ends with its trace.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..recording.step import NOT_READ, Span
from .wires.answer import Answer, Content, GuardedReader, Reader

#: What a step says if the application did not let the library parse a raw response.
UNPARSED = "the raw response was not parsed by the library"


#: Attributes that quote the output.
_PARTS_OF_OUTPUT = frozenset(("citations", "search_results", "grounding_metadata"))


@dataclass
class Called:
    """A call whose result is awaited or read."""

    span: Span
    provider: str
    read: Callable[[Content], Answer]
    reader: Callable[[], Reader]
    problem: Callable[[str], None]
    captures_output: bool
    is_stream: bool


def finish(result: Any, called: Called) -> Any:
    """Records a result, or arranges for its recording, and returns it."""
    if hasattr(result, "http_response") and hasattr(result, "parse"):
        _finish_raw(result, called)
    elif inspect.isgenerator(result):
        return Tee(result, StreamReading(called))
    elif inspect.isasyncgen(result):
        return AsyncTee(result, StreamReading(called))
    elif not _record_stream(result, called):
        _record_whole(result, called)
    return result


def _record_whole(result: Any, called: Called) -> None:
    unread = None
    answer = Answer()
    try:
        answer = called.read(content_of(result))
    except Exception as error:
        unread = f"the answer could not be read: {error!r}"
    end_span(called, answer, unread)


def content_of(model: Any) -> Content:
    """Returns the content of one of the library's objects, of any version of pydantic."""
    if isinstance(model, Mapping):
        return model
    # The names and fields are those that the server sent. The libraries do not validate what servers send, so warnings
    # about it would tell the application nothing.
    return dict(model.model_dump(mode="json", warnings=False, by_alias=True, exclude_unset=True))


def end_span(
    called: Called,
    answer: Answer,
    unread: str | None = None,
    error: BaseException | None = None,
    is_whole: bool = True,
) -> None:
    span = called.span
    if answer.model:
        span.set_model(str(answer.model), called.provider)
    span.set_usage(answer.input_tokens, answer.output_tokens, answer.total_tokens, answer.cost_usd)
    if unread is not None:
        answer.attributes["spoor.unread"] = unread
        called.problem(f"{span.name}: {unread}")
    left_out = frozenset() if called.captures_output else _PARTS_OF_OUTPUT
    said = {name: value for name, value in answer.attributes.items() if value is not None and name not in left_out}
    if said:
        span.set_attributes(said)
    if error is not None:
        span.record_error(error)
    elif answer.error is not None:
        span.add_event("exception", _exception_of(answer.error))
        span.set_status("error")
    elif not is_whole:
        span.add_event(NOT_READ)
        span.set_status("unset")
    elif answer.is_cancelled:
        span.set_status("unset")
    span.end(output=answer.output if called.captures_output else None, status=span.status_or("ok"))


def _exception_of(error: Any) -> dict[str, str]:
    if not isinstance(error, Mapping):
        return {"exception.type": "Error", "exception.message": str(error)}
    kind = error.get("type") or error.get("code") or "Error"
    return {"exception.type": str(kind), "exception.message": str(error.get("message") or dict(error))}


# Streams.

#: The attribute with a stream's source: in the libraries of OpenAI and Anthropic, and in Mistral's.
_SOURCES = ("_iterator", "generator")


def _is_iterator(value: Any) -> bool:
    return hasattr(value, "__next__") or hasattr(value, "__anext__")


class StreamReading:
    """The reading of a stream. It belongs to a span, which calls `stop` if it has to end before the stream."""

    def __init__(self, called: Called) -> None:
        self._called = called
        self._reader = GuardedReader(called.reader())
        #: Whether the library is producing an event. It then also closes the response itself.
        self.is_turning = False
        self.is_left = False
        #: Acquired by the one that ends the span: the reader, its trace, or a thread that drops what was freed.
        self._ending = threading.Lock()
        self.span.reading = self

    @property
    def span(self) -> Span:
        return self._called.span

    def read(self, event: Any) -> None:
        self.is_left = False
        self._reader.read(lambda: content_of(event))

    def end(self, error: BaseException | None = None, is_whole: bool = True) -> None:
        if self._ending.acquire(blocking=False):
            answer = self._reader.answer()
            end_span(self._called, answer, self._reader.problem, error, is_whole)

    def fail(self, error: BaseException) -> None:
        if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
            self.stop()
        else:
            self.end(error)

    def stop(self) -> None:
        """Called if the application stops reading."""
        self.end(is_whole=False)

    def leave(self, is_freed: bool) -> None:
        """Called by finalisers, which may interrupt any code, so it only records what happened."""
        self.is_left = True
        self.span.left(is_freed)

    def close(self) -> None:
        if not self.is_turning:
            self.stop()


def _record_stream(result: Any, called: Called) -> bool:
    """Records a stream whose source has one of the names that the libraries use. Returns whether it is one."""
    if isinstance(result, dict):
        return _record_event_stream(result.get("stream"), called)
    name = next((name for name in _SOURCES if _is_iterator(getattr(result, name, None))), None)
    if name is None:
        return False
    inner = getattr(result, name)
    reading = StreamReading(called)
    source = _without_cycle(result, inner)
    setattr(result, name, AsyncTee(source, reading) if hasattr(source, "__anext__") else Tee(source, reading))
    watch_closing(getattr(result, "response", result), reading.close)
    return True


def _record_event_stream(stream: Any, called: Called) -> bool:
    """Records a stream of boto3, whose class makes a new iterator for each loop."""
    if stream is None:
        return False
    base: Any = type(stream)
    stream._spoor_reading = StreamReading(called)
    stream.__class__ = _looping_class(base)
    return True


@functools.cache
def _looping_class(base: Any) -> Any:
    class Looping(base):  # type: ignore[misc]
        def __iter__(self) -> Iterator[Any]:
            return _Loop(Tee(super().__iter__(), self._spoor_reading, is_part=True))

        def close(self) -> None:
            try:
                super().close()
            finally:
                self._spoor_reading.close()

        def __del__(self) -> None:
            self._spoor_reading.leave(True)

    Looping.__name__, Looping.__qualname__, Looping.__module__ = base.__name__, base.__qualname__, base.__module__
    return Looping


def _without_cycle(stream: Any, inner: Any) -> Any:
    """
    Returns the source of a stream that has not been read. The libraries' own source refers to its stream, so that only
    the garbage collector would free both. A copy's source frees the stream as soon as the application forgets it.
    """
    make = getattr(type(stream), "__stream__", None)
    if make is None:
        return inner
    twin = copy.copy(stream)
    twin._iterator = None
    return make(twin)


class Tee:
    """The source of a stream, which shows each event to its reading."""

    def __init__(self, inner: Iterator[Any], reading: StreamReading, is_part: bool = False) -> None:
        self._inner = inner
        self.reading = reading
        #: Whether another source may continue the stream.
        self._is_part = is_part

    def __iter__(self) -> Iterator[Any]:
        return _Loop(self)

    def __next__(self) -> Any:
        reading = self.reading
        reading.is_turning = True
        try:
            event = next(self._inner)
        except StopIteration:
            reading.end()
            raise
        except BaseException as error:
            reading.fail(error)
            raise
        finally:
            reading.is_turning = False
        reading.read(event)
        return event

    def close(self) -> None:
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()
        self.reading.stop()

    def __del__(self) -> None:
        self.reading.leave(not self._is_part)


class _Loop:
    """One loop over a stream. It is freed when the loop ends, for whatever reason."""

    def __init__(self, tee: Tee) -> None:
        self._tee = tee

    def __iter__(self) -> _Loop:
        return self

    def __next__(self) -> Any:
        return next(self._tee)

    def __del__(self) -> None:
        self._tee.reading.leave(False)


class AsyncTee:
    def __init__(self, inner: AsyncIterator[Any], reading: StreamReading) -> None:
        self._inner = inner
        self.reading = reading

    def __aiter__(self) -> AsyncIterator[Any]:
        return _AsyncLoop(self)

    async def __anext__(self) -> Any:
        reading = self.reading
        reading.is_turning = True
        try:
            event = await self._inner.__anext__()
        except StopAsyncIteration:
            reading.end()
            raise
        except BaseException as error:
            reading.fail(error)
            raise
        finally:
            reading.is_turning = False
        reading.read(event)
        return event

    async def aclose(self) -> None:
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()
        self.reading.stop()

    def __del__(self) -> None:
        self.reading.leave(True)


class _AsyncLoop:
    def __init__(self, tee: AsyncTee) -> None:
        self._tee = tee

    def __aiter__(self) -> _AsyncLoop:
        return self

    async def __anext__(self) -> Any:
        return await self._tee.__anext__()

    def __del__(self) -> None:
        self._tee.reading.leave(False)


def watch_closing(target: Any, closed: Callable[[], None]) -> None:
    """
    Calls `closed` after an object's `close` or `aclose`. The object gets a class of its own, because a function on the
    object would keep the object, and with it its connection, from being freed.
    """
    if "_spoor_closed" not in vars(target):
        base: Any = type(target)
        target.__class__ = _closing_class(base)
    target._spoor_closed = closed


@functools.cache
def _closing_class(base: Any) -> Any:
    def close(self: Any) -> None:
        try:
            base.close(self)
        finally:
            self._spoor_closed()

    async def close_async(self: Any) -> None:
        try:
            await base.close(self)
        finally:
            self._spoor_closed()

    async def aclose(self: Any) -> None:
        try:
            await base.aclose(self)
        finally:
            self._spoor_closed()

    members: dict[str, Any] = {"__module__": base.__module__, "__qualname__": base.__qualname__}
    if hasattr(base, "close"):
        members["close"] = close_async if inspect.iscoroutinefunction(base.close) else close
    if hasattr(base, "aclose"):
        members["aclose"] = aclose
    return type(base)(base.__name__, (base,), members)


# Raw responses.


class _Parsing:
    """A raw response that the application has not parsed."""

    def __init__(self, called: Called) -> None:
        self._called = called
        self.is_turning = False
        self.is_left = False

    def stop(self) -> None:
        if not self._called.span.is_ended:
            self._called.span.set_attributes({"spoor.unread": UNPARSED})
            self._called.span.end(status="unset")

    def close(self) -> None:
        reading = self._called.span.reading
        if not self.is_turning and reading is not None and not getattr(reading, "is_turning", False):
            reading.stop()


def _finish_raw(raw: Any, called: Called) -> None:
    response = raw.http_response
    if getattr(response, "is_closed", False) and not called.is_stream:
        # The body has been read. The library keeps the parsed answer for the application.
        try:
            parsed = raw.parse()
        except Exception:
            called.span.set_attributes({"spoor.unread": UNPARSED})
            called.span.end(status="ok")
        else:
            _record_whole(parsed, called)
        return
    parsing = _Parsing(called)
    called.span.reading = parsing
    raw.parse = _parse(weakref.ref(raw), type(raw).parse, parsing, called)
    watch_closing(response, parsing.close)


def _parse(weak: weakref.ref[Any], parse: Callable[..., Any], parsing: _Parsing, called: Called) -> Callable[..., Any]:
    def record(parsed: Any) -> Any:
        if called.span.reading is parsing and not _record_stream(parsed, called):
            _record_whole(parsed, called)
        return parsed

    def parse_now(*args: Any, **kwargs: Any) -> Any:
        parsing.is_turning = True
        try:
            parsed = parse(weak(), *args, **kwargs)
        finally:
            parsing.is_turning = False
        return record(parsed)

    async def parse_later(*args: Any, **kwargs: Any) -> Any:
        parsing.is_turning = True
        try:
            parsed = await parse(weak(), *args, **kwargs)
        finally:
            parsing.is_turning = False
        return record(parsed)

    return parse_later if inspect.iscoroutinefunction(parse) else parse_now
