"""
External spans that a trace can join: another service's span, named by the header `traceparent`, or OpenTelemetry's
current span.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_TRACEPARENT = re.compile(r"^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$")
#: The flag for a span that is sent. A trace below an unsent span would have no root.
_SAMPLED = 1
_PORTS = {"http": 80, "https": 443}
#: Variables with the address to which OpenTelemetry exports traces. The first variable that is set applies.
_EXPORTER_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class Parent(NamedTuple):
    trace_id: str
    span_id: str
    is_sampled: bool = True

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.is_sampled else '00'}"


def parse_traceparent(text: str) -> Parent | None:
    """Returns None if the header is not valid W3C Trace Context, or if it names a span that is not sent."""
    matched = _TRACEPARENT.match(text.strip().lower())
    if matched is None or text.startswith("ff"):
        return None
    trace_id, span_id, flags = matched.groups()
    if not int(flags, 16) & _SAMPLED:
        return None
    return Parent(trace_id, span_id) if trace_id.strip("0") and span_id.strip("0") else None


def parent_of_headers(headers: Mapping[str, str] | Iterable[tuple[object, object]]) -> Parent | None:
    """Returns the span that sent a request. Header names may be in any case, and strings or bytes (as in ASGI)."""
    # http.server's headers are no Mapping, and yield only names.
    items: Any = headers.items() if hasattr(headers, "items") else headers
    for item in items if isinstance(items, Iterable) else ():
        if not isinstance(item, (tuple, list)) or len(item) != 2:
            continue
        name, value = item
        if _as_text(name).lower() in ("traceparent", "http_traceparent"):
            return parse_traceparent(_as_text(value))
    return None


def _as_text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def is_export_to(url: str) -> bool:
    """Returns whether OpenTelemetry's variables direct its exports to this server."""
    endpoint = next(filter(None, map(os.environ.get, _EXPORTER_VARIABLES)), "")
    place = _place_of(endpoint)
    return place is not None and place == _place_of(url)


def _place_of(url: str) -> tuple[str, int | None] | None:
    """Returns host and port. All names of this machine compare as equal, and each scheme has a default port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if host == "":
        return None
    return "localhost" if host in ("127.0.0.1", "::1") else host, port or _PORTS.get(parts.scheme)


def parent_of_opentelemetry() -> Parent | None:
    """Returns OpenTelemetry's current span, if it is exported."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid or not context.trace_flags.sampled:
        return None
    return Parent(f"{context.trace_id:032x}", f"{context.span_id:016x}")
