"""The decorator `observe`, which records calls of functions as traces and spans, and generators while they are read."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol

from .document import Kind
from .recording.step import NOT_READ, Span, Step, within
from .recording.trace import Trace
from .values import quote, write

#: Maximum number of bytes of a generator's items that are recorded as its output.
_MAX_READ_BYTES = 600_000


class Client(Protocol):
    captures_input: bool
    captures_output: bool

    def current(self) -> Step | None: ...

    def trace(self, name: str) -> Trace: ...


@dataclass(frozen=True)
class _Options:
    name: str
    kind: Kind
    captures_input: bool
    captures_output: bool


def observing(
    client_of: Callable[[], Client],
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    kind: Kind = "custom",
    capture_input: bool = True,
    capture_output: bool = True,
) -> Any:
    """`client_of` is called at each call, so that functions can be decorated before a client exists."""

    def decorate(wrapped: Callable[..., Any]) -> Callable[..., Any]:
        title = name or getattr(wrapped, "__qualname__", None) or type(wrapped).__name__
        options = _Options(title.replace("<locals>.", ""), kind, capture_input, capture_output)
        return _wrap(client_of, wrapped, options)

    if isinstance(function, (classmethod, property)):
        name = "classmethod" if isinstance(function, classmethod) else "property"
        raise TypeError(f"put @observe below @{name}")
    if function is not None and not callable(function):
        raise TypeError(f'observe takes a function, not {function!r}: write observe(name="…")')
    return decorate if function is None else decorate(function)


def _wrap(client_of: Callable[[], Client], function: Callable[..., Any], options: _Options) -> Callable[..., Any]:
    arguments = _arguments_of(function)

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Observed:
        client = client_of()
        current = client.current()
        step: Step
        if current is None:
            step = client.trace(options.name)
        else:
            step = current.start_span(options.name, kind=options.kind)
        if options.captures_input and client.captures_input:
            step.set_input(arguments(args, kwargs))
        return _Observed(step, options.captures_output and client.captures_output)

    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        watch: Callable[[Any, _Reading], Any] = _watch_async if inspect.isasyncgenfunction(function) else _watch

        # The step begins at the call, because the trace that is current then may no longer be current at the first
        # read, as in a server that sends a response after its handler has returned.
        @functools.wraps(function)
        def call_generator(*args: Any, **kwargs: Any) -> Any:
            observed = begin(args, kwargs)
            with within(observed.step):
                return watch(function(*args, **kwargs), _Reading(observed))

        return call_generator

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_coroutine(*args: Any, **kwargs: Any) -> Any:
            observed = begin(args, kwargs)
            return await _watch_coroutine(function, args, kwargs, observed)

        return call_coroutine

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        observed = begin(args, kwargs)
        try:
            with within(observed.step):
                result = function(*args, **kwargs)
        except BaseException as error:
            _fail(observed.step, error)
            raise
        if inspect.iscoroutine(result):
            return _watch_coroutine(lambda: result, (), {}, observed)
        return _succeed(result, observed)

    return call


@dataclass(frozen=True)
class _Observed:
    step: Step
    captures_output: bool


def _succeed(result: Any, observed: _Observed) -> Any:
    """Ends the step with its result or, if the result is read later, watches the reading."""
    if inspect.isgenerator(result):
        return _watch(result, _Reading(observed))
    if inspect.isasyncgen(result):
        return _watch_async(result, _Reading(observed))
    body: Any = getattr(result, "body_iterator", None)
    if hasattr(body, "__aiter__"):
        # The response of Starlette or FastAPI sends its body after the handler has returned.
        result.body_iterator = _watch_async(_generator_of(body), _Reading(observed))
        return result
    step = observed.step
    output = result if observed.captures_output and not step.has_output else None
    step.end(output=output, status=step.status_or("ok"))
    return result


async def _generator_of(items: AsyncIterable[Any]) -> AsyncGenerator[Any, Any]:
    async for item in items:
        yield item


def _arguments_of(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Returns the arguments of a call by parameter name, without `self` and `cls`."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return lambda args, kwargs: {"args": args, "kwargs": kwargs} if kwargs else list(args)
    first = next(iter(signature.parameters), None)

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            given = dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:  # The call itself will raise the error.
            return {"args": args, "kwargs": kwargs}
        if first in ("self", "cls"):
            given.pop(first, None)
        return given

    return arguments


def _fail(step: Step, error: BaseException) -> None:
    if isinstance(error, (GeneratorExit, SystemExit)):
        step.end(status=step.status_or("unset"))
    else:
        step.end(error=error)


async def _watch_coroutine(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], observed: _Observed
) -> Any:
    try:
        with within(observed.step):
            result = await function(*args, **kwargs)
    except BaseException as error:
        _fail(observed.step, error)
        raise
    return _succeed(result, observed)


class _Reading:
    """Collects the items read from a generator, and ends its step."""

    def __init__(self, observed: _Observed) -> None:
        self.step = observed.step
        self._is_captured = observed.captures_output
        #: Strings are kept unchanged, other items as JSON.
        self._items: list[tuple[bool, str]] = []
        self._bytes = 0
        self._left_out = 0

    def read(self, item: Any) -> None:
        if not self._is_captured or self._bytes > _MAX_READ_BYTES:
            self._left_out += self._is_captured
            return
        if isinstance(item, (bytes, bytearray)):
            item = item.decode("utf-8", "replace")
        if isinstance(item, str):
            self._bytes += len(item) + 1
            self._items.append((True, item))
        else:
            # The item becomes JSON at once, because the reader may change it.
            written = write(item, _MAX_READ_BYTES, self.step.trace.redact, str(len(self._items)))
            self._bytes += written.size + 1
            self._items.append((False, written.text))

    def end(self) -> None:
        self._set_output()
        self.step.end(status=self.step.status_or("ok"))

    def fail(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            # A reader that is cancelled, such as a response whose client has disconnected, is not a failure.
            self.stop()
            return
        self._set_output()
        self.step.end(error=error)

    def stop(self) -> None:
        """Called when the reader stops before the end, or is garbage-collected."""
        self._set_output()
        if isinstance(self.step, Span):
            self.step.add_event(NOT_READ)
        self.step.end(status=self.step.status_or("unset"))

    def _set_output(self) -> None:
        if not self._items or self.step.has_output:
            return
        cut = [f"…[cut {self._left_out:,} items]"] if self._left_out > 0 else []
        if all(is_text for is_text, _ in self._items):
            # The items are joined before redaction, because a secret may be spread over several items.
            self.step.set_output("".join([*(item for _, item in self._items), *cut]))
            return
        redact = self.step.trace.redact
        texts = [
            write(item, _MAX_READ_BYTES, redact, str(place)).text if is_text else item
            for place, (is_text, item) in enumerate(self._items)
        ]
        self.step.set_text("output", f"[{','.join([*texts, *map(quote, cut)])}]")


def _watch(generator: Generator[Any, Any, Any], reading: _Reading) -> Generator[Any, Any, Any]:
    """
    Each turn runs inside the step, so that the generator's calls are part of the step, but the reader's calls are not.
    """
    turn: Callable[[], Any] = generator.__next__
    try:
        while True:
            try:
                with within(reading.step):
                    item = turn()
            except StopIteration as stop:
                reading.end()
                return stop.value
            reading.read(item)
            try:
                sent = yield item
                turn = functools.partial(generator.send, sent)
            except GeneratorExit:
                with within(reading.step):
                    generator.close()
                reading.stop()
                raise
            except BaseException as error:
                turn = functools.partial(generator.throw, error)
    except GeneratorExit:
        raise
    except BaseException as error:
        reading.fail(error)
        raise


async def _watch_async(generator: AsyncGenerator[Any, Any], reading: _Reading) -> AsyncGenerator[Any, Any]:
    """Does the same for asynchronous generators, which have no `yield from`."""
    turn: Callable[[], Any] = generator.__anext__
    try:
        while True:
            try:
                with within(reading.step):
                    item = await turn()
            except StopAsyncIteration:
                reading.end()
                return
            reading.read(item)
            try:
                sent = yield item
                turn = functools.partial(generator.asend, sent)
            except GeneratorExit:
                with within(reading.step):
                    await generator.aclose()
                reading.stop()
                raise
            except BaseException as error:
                turn = functools.partial(generator.athrow, error)
    except GeneratorExit:
        raise
    except BaseException as error:
        reading.fail(error)
        raise
