"""
Splits a part that was rejected as too large into smaller requests. A part with several spans is divided, which loses
nothing. A part that cannot be divided gets half the space for its values, with notes about what is missing. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from ..document import SpanText, fit
from ..json_text import array_text, items, members, object_text
from ..values import quote, size_of
from .delivery import Part, PartKind

#: A part of at most this size was rejected for another reason, or by a server that accepts nothing.
_LEAST_BYTES = 2_000
#: A round of cutting must remove at least this share, or it is the last round.
_LEAST_CHANGE = 0.05
#: Members of a trace that belong to its start. The others belong to its end.
_START = ("id", "name", "startedAt", "sessionId", "userId", "tags", "input")
_VALUES = ("input", "output", "metadata", "attributes")
#: Attributes of an export that contain JSON strings.
_JSON_ATTRIBUTES = ("input.value", "output.value", "metadata")

Made = Sequence[tuple[PartKind, str]]


def smaller(part: Part) -> list[Part]:
    """Returns the smaller parts; an empty list if the part cannot be made smaller."""
    if len(part.body) <= _LEAST_BYTES or part.kind not in _BY_KIND:
        return []
    try:
        made = _BY_KIND[part.kind](part.body.decode())
    except (ValueError, KeyError, TypeError, AttributeError):  # The client did not write this body.
        return []
    parts = [Part(kind, text.encode()) for kind, text in made]
    is_smaller = len(parts) > 1 or len(parts[0].body) <= (1 - _LEAST_CHANGE) * len(part.body)
    return parts if is_smaller else []


def _record(text: str) -> Made:
    """Splits a trace into its start, its spans and its end, as a running trace is sent."""
    body = members(text)
    trace = members(body.pop("trace"))
    spans = trace.pop("spans", "[]")
    if spans == "[]" and "output" not in trace:
        return [("record", object_text({**body, "trace": _halved(trace)}))]
    start = {name: trace.pop(name) for name in _START if name in trace}
    appended: Made = [] if spans == "[]" else [("spans", object_text({**body, "spans": spans}))]
    head = object_text({**body, "trace": object_text(start)})
    return [("start", head), *appended, ("end", object_text({**body, **trace}))]


def _start(text: str) -> Made:
    body = members(text)
    return [("start", object_text({**body, "trace": _halved(members(body["trace"]))}))]


def _spans(text: str) -> Made:
    body = members(text)
    divided = _divided(items(body["spans"]), _span)
    return [("spans", object_text({**body, "spans": array_text(spans)})) for spans in divided]


def _end(text: str) -> Made:
    body = members(text)
    spans = body.pop("spans", "[]")
    if spans == "[]":
        return [("end", _halved(body))]
    appended = object_text({"schemaVersion": body["schemaVersion"], "spans": spans})
    return [("spans", appended), ("end", object_text(body))]


def _otlp(text: str) -> Made:
    (resource,) = map(members, items(members(text)["resourceSpans"]))
    (scope,) = map(members, items(resource["scopeSpans"]))

    def export(spans: Sequence[str]) -> str:
        scopes = array_text([object_text({**scope, "spans": array_text(spans)})])
        return object_text({"resourceSpans": array_text([object_text({**resource, "scopeSpans": scopes})])})

    return [("otlp", export(spans)) for spans in _divided(items(scope["spans"]), _otlp_span)]


_BY_KIND: Mapping[PartKind, Callable[[str], Made]] = {
    "record": _record,
    "start": _start,
    "spans": _spans,
    "end": _end,
    "otlp": _otlp,
}


def _divided(spans: Sequence[str], cut: Callable[[str], str]) -> list[Sequence[str]]:
    """Returns two lists of about the same size, or a single span with less content."""
    if len(spans) < 2:
        return [[cut(span) for span in spans]]
    half = sum(map(size_of, spans)) // 2
    count, taken = 1, size_of(spans[0])
    while count < len(spans) - 1 and taken + size_of(spans[count]) <= half:
        taken += size_of(spans[count])
        count += 1
    return [spans[:count], spans[count:]]


# Halves the space for values. A trace's metadata, or a span's attributes, state the number of cuts.


def _halved(document: Mapping[str, str]) -> str:
    """Halves a trace, or the body that ends a trace."""
    values = {name: document[name] for name in _VALUES if name in document}
    cuts = fit(values, sum(map(size_of, values.values())) // 2)
    if cuts == 0:
        # The document may still have become smaller, because other escapes are shorter.
        return object_text({**document, **values})
    metadata = members(values.get("metadata", "{}"))
    said = metadata.get("spoor", "{}")
    # An application may have written a different value there.
    notes = members(said) if said.startswith("{") else {}
    metadata["spoor"] = object_text({**notes, "cut": _added(notes.get("cut"), cuts)})
    return object_text({**document, **values, "metadata": object_text(metadata)})


def _added(said: str | None, cuts: int) -> str:
    return str(cuts + (int(said) if said is not None and said.isdigit() else 0))


def _span(text: str) -> str:
    fields = members(text)
    events = items(fields.pop("events", "[]"))
    values = {name: fields.pop(name) for name in _VALUES if name in fields}
    span = SpanText(object_text(fields)[1:-1], values, events)
    cuts = span.shrink(size_of(text) // 2)
    if cuts > 0:
        attributes = members(span.values.get("attributes", "{}"))
        attributes["spoor.cut"] = _added(attributes.get("spoor.cut"), cuts)
        span.values["attributes"] = object_text(attributes)
    return span.text


def _otlp_span(text: str) -> str:
    fields = members(text)
    attributes = {each["key"]: each["value"] for each in json.loads(fields["attributes"])}
    values = {
        key: value["stringValue"] if key in _JSON_ATTRIBUTES else quote(value["stringValue"])
        for key, value in attributes.items()
        if "stringValue" in value
    }
    others = {name: fields[name] for name in fields if name not in ("attributes", "events")}
    span = SpanText(object_text(others), values, items(fields.get("events", "[]")))
    cuts = span.shrink(size_of(text) // 2)
    for key, value in span.values.items():
        attributes[key] = {"stringValue": value if key in _JSON_ATTRIBUTES else json.loads(value)}
    if cuts > 0:
        attributes["spoor.cut"] = {"intValue": _added(attributes.get("spoor.cut", {}).get("intValue"), cuts)}
    listed = (f'{{"key":{quote(key)},"value":{_value_text(value)}}}' for key, value in attributes.items())
    return object_text({**others, "attributes": array_text(listed), "events": array_text(span.events)})


def _value_text(value: Mapping[str, object]) -> str:
    text = value.get("stringValue")
    return f'{{"stringValue":{quote(text)}}}' if isinstance(text, str) else json.dumps(value)
