"""
Spans of elsewhere that a trace may be part of: another service's, by the header `traceparent`, or OpenTelemetry's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

_TRACEPARENT = re.compile(r"^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$")
#: Of the flags: the span is sent at all. What would be part of one that is not would have no beginning.
_SAMPLED = 1
_PORTS = {"http": 80, "https": 443}
#: Where OpenTelemetry's exporter of traces sends to, by its own variables: the first that is set counts.
_EXPORTER_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class Parent(NamedTuple):
    trace_id: str
    span_id: str

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-01"


def parse_traceparent(text: str) -> Parent | None:
    """None where it is no header of W3C Trace Context, or is that of a span that nobody sends."""
    matched = _TRACEPARENT.match(text.strip().lower())
    if matched is None or text.startswith("ff"):
        return None
    trace_id, span_id, flags = matched.groups()
    if not int(flags, 16) & _SAMPLED:
        return None
    return Parent(trace_id, span_id) if trace_id.strip("0") and span_id.strip("0") else None


def parent_of_headers(headers: Mapping[str, str] | Iterable[tuple[object, object]]) -> Parent | None:
    """The span that sent a request. Names in any case; texts or bytes (as ASGI has them)."""
    items = headers.items() if isinstance(headers, Mapping) else headers
    for name, value in items:
        if _as_text(name).lower() in ("traceparent", "http_traceparent"):
            return parse_traceparent(_as_text(value))
    return None


def _as_text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def is_export_to(url: str) -> bool:
    """Whether OpenTelemetry exports to this server, as far as its variables say."""
    endpoint = next(filter(None, map(os.environ.get, _EXPORTER_VARIABLES)), "")
    place = _place_of(endpoint)
    return place is not None and place == _place_of(url)


def _place_of(url: str) -> tuple[str, int | None] | None:
    """Host and port. A machine has several names for itself, and each scheme has a port of its own."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if host == "":
        return None
    return "localhost" if host in ("127.0.0.1", "::1") else host, port or _PORTS.get(parts.scheme)


def parent_of_opentelemetry() -> Parent | None:
    """OpenTelemetry's current span, if it has one that is exported."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid or not context.trace_flags.sampled:
        return None
    return Parent(f"{context.trace_id:032x}", f"{context.span_id:016x}")
