"""
Renders spans as an OTLP export in JSON with OpenInference's attribute names, from which the server restores the same
spans. Spans join a trace of another service or of OpenTelemetry in this form, because only such traces accept spans
from several senders. Pure.
"""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .document import SpanText

_STATUS_CODES = {"unset": 0, "ok": 1, "error": 2}
#: The server accepts times from 1970 to 2255 in this form; 0 would mean no time.
_MAX_MICROSECONDS = 2**53 - 1
_TIME = re.compile(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d{6})Z")


def export_bodies(
    trace_id: str, root_id: str, spans: Iterable[SpanText], most_bytes: int, root: dict[str, Any] | None = None
) -> list[bytes]:
    """
    Returns exports of spans. Spans without a parent become children of the span `root_id`. An export has at most
    `limit` bytes, unless a single span is larger.
    """
    every = [_bytes_of(_span(trace_id, root_id, span)) for span in spans]
    if root is not None:
        every.append(_bytes_of(root))
    exports: list[list[bytes]] = []
    size = most_bytes
    for span in every:
        if size + len(span) > most_bytes:
            exports.append([])
            size = 0
        exports[-1].append(span)
        size += len(span) + 1
    return [_export(spans) for spans in exports]


def joined_body(trace_id: str, joined: bytes) -> bytes:
    """
    Returns the export of a `joined` part, which the TypeScript client leaves in a spool. Such a part has spans and, if
    the trace has ended, the trace itself, all in the API's form.
    """
    said = json.loads(joined)
    root_id, root = said["rootId"], said.get("root")
    spans = []
    for span in said.get("spans", []):
        fields = {"parentSpanId": root_id, **span}
        spans.append(_span_of(trace_id, fields, _values_of(span), span.get("events", [])))
    if root is not None:
        metadata = _bytes_of(root.get("metadata", {})).decode()
        spans.append(root_span(trace_id, root_id, root.get("parentSpanId"), root, _values_of(root), metadata))
    return _export(map(_bytes_of, spans))


def _values_of(document: Mapping[str, Any]) -> dict[str, str]:
    names = ("input", "output", "attributes")
    return {name: _bytes_of(document[name]).decode() for name in names if name in document}


def _export(spans: Iterable[bytes]) -> bytes:
    head = b'{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":"spoor"},"spans":['
    return head + b",".join(spans) + b"]}]}]}"


def _bytes_of(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # The string has unpaired surrogates.
        return json.dumps(value, separators=(",", ":")).encode()


def root_span(
    trace_id: str,
    root_id: str,
    parent_id: str | None,
    fields: Mapping[str, Any],
    values: Mapping[str, str],
    metadata: str,
) -> dict[str, Any]:
    """Renders the trace itself as a span. `fields` are a trace's fields."""
    span = _span_of(trace_id, {**fields, "id": root_id, "parentSpanId": parent_id, "kind": "chain"}, values, [])
    span["attributes"] += _text("session.id", fields.get("sessionId")) + _text("user.id", fields.get("userId"))
    tags = fields.get("tags")
    if tags:
        span["attributes"].append(
            {"key": "tag.tags", "value": {"arrayValue": {"values": [{"stringValue": tag} for tag in tags]}}}
        )
    if metadata != "{}":
        span["attributes"] += _text("metadata", metadata)
    return span


def _span(trace_id: str, root_id: str, span: SpanText) -> dict[str, Any]:
    fields = json.loads(f"{{{span.head}}}")
    fields["parentSpanId"] = fields.get("parentSpanId") or root_id
    return _span_of(trace_id, fields, span.values, [json.loads(event) for event in span.events])


def _span_of(
    trace_id: str, fields: Mapping[str, Any], values: Mapping[str, str], events: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    usage = fields.get("usage") or {}
    kind = fields["kind"]
    attributes = [
        *_text("openinference.span.kind", kind.upper()),
        *_payload("input", values.get("input")),
        *_payload("output", values.get("output")),
        *_text("embedding.model_name" if kind == "embedding" else "llm.model_name", fields.get("model")),
        *_text("llm.provider", fields.get("provider")),
        *_count("llm.token_count.prompt", usage.get("inputTokens")),
        *_count("llm.token_count.completion", usage.get("outputTokens")),
        *_count("llm.token_count.total", usage.get("totalTokens")),
    ]
    if fields.get("costUsd") is not None:
        attributes.append({"key": "llm.cost.total", "value": {"doubleValue": fields["costUsd"]}})
    attributes += _attributes(json.loads(values.get("attributes", "{}")))
    span: dict[str, Any] = {
        "traceId": trace_id,
        "spanId": fields["id"],
        "name": fields["name"],
        "kind": 1,
        "startTimeUnixNano": _nanoseconds(fields["startedAt"]),
        "endTimeUnixNano": _nanoseconds(fields["endedAt"]),
        "status": {"code": _STATUS_CODES[fields["status"]]},
        "attributes": attributes,
        "events": [
            {
                "name": event["name"],
                "timeUnixNano": _nanoseconds(event["timestamp"]),
                "attributes": _attributes(event.get("attributes", {})),
            }
            for event in events
        ],
    }
    if fields.get("parentSpanId"):
        span["parentSpanId"] = fields["parentSpanId"]
    return span


def _attributes(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Strings keep their type. Values that are not scalars become JSON."""
    return [{"key": key, "value": _value(value)} for key, value in given.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and abs(value) < 2**63:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}


def _text(key: str, text: str | None) -> list[dict[str, Any]]:
    return [] if text is None else [{"key": key, "value": {"stringValue": text}}]


def _count(key: str, count: int | None) -> list[dict[str, Any]]:
    return [] if count is None else [{"key": key, "value": {"intValue": str(count)}}]


def _payload(side: str, text: str | None) -> list[dict[str, Any]]:
    return [] if text is None else _text(f"{side}.value", text) + _text(f"{side}.mime_type", "application/json")


def _nanoseconds(timestamp: str) -> str:
    matched = _TIME.fullmatch(timestamp)
    if matched is None:
        raise ValueError(f"{timestamp} is not a UTC time with microseconds")
    year, month, day, hour, minute, second, micro = map(int, matched.groups())
    micros = calendar.timegm((year, month, day, hour, minute, second)) * 1_000_000 + micro
    return str(min(max(micros, 1), _MAX_MICROSECONDS) * 1_000)
