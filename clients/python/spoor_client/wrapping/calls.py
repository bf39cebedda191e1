"""
Records calls of a provider's library as spans. Functions are replaced on the application's own object, and on the
clients that the library derives from it (`with_options`). Results keep their type.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..document import Kind
from ..recording.step import Span
from .results import Called, finish
from .wires.answer import Answer, Content, Reader

#: Parameters that concern the transport, not the model.
_TRANSPORT = frozenset(
    (
        *("extra_headers", "extra_query", "extra_body", "timeout", "stream", "stream_options"),
        *("http_headers", "retries", "server_url", "timeout_ms"),
    )
)
#: The attribute of a recording function that holds the client for which it records.
_MARK = "_spoor"


@dataclass(frozen=True)
class Method:
    name: str
    provider: str
    kind: Kind
    #: Names of the parameters that are neither the model nor settings.
    input_names: tuple[str, ...]
    #: Returns the input from these parameters.
    describe: Callable[[Content], Any]
    #: Reads a whole response.
    read: Callable[[Content], Answer]
    #: Creates a reader of a stream's events.
    reader: Callable[[], Reader]
    #: Whether each result is a stream, or the parameter `stream` decides.
    is_stream: bool = False
    model_name: str = "model"
    #: Returns the parameters as the other fields expect them.
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = dict


class Client(Protocol):
    captures_input: bool
    captures_output: bool

    def span(self, name: str, *, kind: Kind) -> Span: ...

    def problem(self, text: str) -> None: ...


def resource_of(library: Any, path: str) -> Any:
    """Returns the object at a path such as `chat.completions`, if the library has it."""
    for name in path.split("."):
        library = getattr(library, name, None)
    return library


def record_calls(client: Client, resource: Any, names: Sequence[str], method: Method) -> None:
    """Replaces this object's own functions with recording functions."""
    _replace(client, resource, names, lambda function: _recording(client, function, method))


def record_managers(client: Client, resource: Any, names: Sequence[str], method: Method) -> None:
    """Does the same for functions whose result sends the request when a `with` statement enters it."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return _watch_manager(client, function(*args, **kwargs), kwargs, method)

        return call

    _replace(client, resource, names, decorate)


def record_derived(client: Client, library: Any, names: Sequence[str], wrap: Callable[[Client, Any], None]) -> None:
    """Also records the clients that these functions derive from a client, such as `with_options`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def derive(*args: Any, **kwargs: Any) -> Any:
            derived = function(*args, **kwargs)
            wrap(client, derived)
            return derived

        return derive

    _replace(client, library, names, decorate)


def record_when_used(library: Any, records: Mapping[str, Callable[[Any], None]]) -> None:
    """
    Calls a function with each of these resources of a library's client when the resource exists. The library imports a
    resource on first use, which takes longer than all of its other imports, so wrapping must not use it.
    """
    if "_spoor_records" in vars(library):
        return
    for name in records:
        if name in vars(library):
            records[name](getattr(library, name))
    base: Any = type(library)
    if any(name not in vars(library) and hasattr(base, name) for name in records):
        library._spoor_records = dict(records)
        library.__class__ = _class_with_records(base, tuple(records))


@functools.cache
def _class_with_records(base: Any, names: tuple[str, ...]) -> Any:
    made: Any = type(base)(base.__name__, (base,), {"__module__": base.__module__, "__qualname__": base.__qualname__})
    for name in names:
        resource = functools.cached_property(functools.partial(_used, made, name))
        resource.__set_name__(made, name)
        setattr(made, name, resource)
    return made


def _used(made: Any, name: str, library: Any) -> Any:
    resource = getattr(super(made, library), name)
    # A client that the library derives has the class, and is recorded separately.
    record = vars(library).get("_spoor_records", {}).get(name)
    if record is not None:
        record(resource)
    return resource


def is_client(client: Client, library: Any, path: str, wrapper: str, example: str) -> bool:
    """Returns whether the library's client has the function at this path. Reports any other object."""
    if isinstance(library, type):
        given = f"the class {library.__name__}"
    elif isinstance(library, types.ModuleType):
        given = f"the module {library.__name__}"
    elif callable(resource_of(library, path)):
        return True
    else:
        given = "None" if library is None else type(library).__name__
    client.problem(f"{wrapper} records nothing: it takes a client such as {example}, not {given}")
    return False


def is_of_another_client(client: Client, *resources: Any) -> bool:
    """
    Returns whether another client already records this object, and reports it. Recording its calls in both projects
    would give each project the other's data.
    """
    for resource in resources:
        for function in vars(resource).values() if hasattr(resource, "__dict__") else ():
            owner = getattr(function, _MARK, None)
            if owner is not None and owner is not client:
                client.problem(
                    "this object is already recorded by another spoor client, which keeps it: "
                    "wrap a separate object for each project"
                )
                return True
    return False


def _replace(
    client: Client,
    resource: Any,
    names: Sequence[str],
    decorate: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> None:
    for name in names:
        function = getattr(resource, name, None)
        if callable(function) and not hasattr(function, _MARK):
            recording = decorate(function)
            setattr(recording, _MARK, client)
            setattr(resource, name, recording)


def _recording(client: Client, function: Callable[..., Any], method: Method) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        called = _begin(client, _by_name(function, args, kwargs) if args else kwargs, method)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            called.span.end(error=error)
            raise
        return _await(result, called) if inspect.isawaitable(result) else finish(result, called)

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
        setattr(manager, name, _Entering(lambda: _await(request, _begin(client, kwargs, method))))
    return manager


def _by_name(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Content) -> Content:
    try:
        return inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):  # The call itself will raise the error.
        return kwargs


class _Entering:
    """The request is sent only when this is awaited, so nothing is recorded if the result is never entered."""

    def __init__(self, ask: Callable[[], Awaitable[Any]]) -> None:
        self._ask = ask

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._ask().__await__()


def _begin(client: Client, kwargs: Content, method: Method) -> Called:
    given = {name: value for name, value in kwargs.items() if name not in _TRANSPORT and _is_given(value)}
    given = method.prepare(given)
    span = client.span(method.name, kind=method.kind)
    span.set_model(str(given.pop(method.model_name, "unknown")), method.provider)
    said = {name: given.pop(name) for name in method.input_names if name in given}
    if client.captures_input:
        span.set_input(method.describe(said))
    if given:
        span.set_attributes({name: _setting(value) for name, value in given.items()})
    is_stream = method.is_stream or bool(kwargs.get("stream"))
    return Called(span, method.provider, method.read, method.reader, client.problem, client.captures_output, is_stream)


def _is_given(value: Any) -> bool:
    """The libraries use special objects for omitted arguments."""
    return value is not None and type(value).__name__ not in ("NotGiven", "Omit", "Unset")


def _setting(value: Any) -> Any:
    """A class that defines a response format is recorded as its JSON schema."""
    if not isinstance(value, type):
        return value
    schema = getattr(value, "model_json_schema", None)
    try:
        return value.__qualname__ if schema is None else schema()
    except Exception:  # The model has fields without a schema.
        return value.__qualname__


async def _await(awaitable: Awaitable[Any], called: Called) -> Any:
    try:
        result = await awaitable
    except BaseException as error:
        called.span.end(error=error)
        raise
    return finish(result, called)
