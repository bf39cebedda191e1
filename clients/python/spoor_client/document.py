"""
Builds the bodies that the server accepts (`POST /api/v1/traces`, and the requests of a running trace), within all size
limits. Pure functions from strings to strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .values import MIN_BUDGET, quote, scalar_of, shrink, size_of

Kind = Literal["llm", "agent", "tool", "chain", "retriever", "embedding", "reranker", "custom"]
Status = Literal["ok", "error", "unset"]
KINDS: frozenset[str] = frozenset(get_args(Kind))
STATUSES: frozenset[str] = frozenset(get_args(Status))

# The server's rules, as in the OpenAPI document. The budgets are below the server's limits.
MAX_SPANS = 200
#: Maximum number of spans of a trace that is sent over OTLP.
MAX_JOINED_SPANS = 10_000
MAX_TAGS = 20
MAX_EVENTS = 50
MAX_NAME = 500
MAX_TEXT = 200
MAX_TAG = 64
MAX_COUNT = 2**53 - 1
#: Budget of a trace without its spans, and of each span. The server accepts 768,000 bytes.
DOCUMENT_BUDGET = 700_000
#: Budget of a whole body. The server accepts 2,097,152 bytes.
BODY_BUDGET = 2_000_000
#: Budget of one event's attributes.
EVENT_BUDGET = 32_000

USAGE_FIELDS = ("inputTokens", "outputTokens", "totalTokens")
#: The server's text columns reject these characters.
_REFUSED = re.compile("[\x00\ud800-\udfff]")


def short_text(value: object, longest: int) -> str | None:
    """Returns a string of 1 to `longest` characters, or None."""
    text = _REFUSED.sub("�", value if isinstance(value, str) else str(value))[:longest]
    return text or None


def tags_of(values: Iterable[object]) -> list[str]:
    texts = (short_text(value, MAX_TAG) for value in values)
    return list(dict.fromkeys(text for text in texts if text is not None))


def usage_of(given: Mapping[str, Any]) -> dict[str, int]:
    """Returns token counts from any value, without values that are not integers in the server's range."""
    usage = {}
    for name in USAGE_FIELDS:
        count = scalar_of(given.get(name))
        if isinstance(count, float) and count.is_integer():
            count = int(count)
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_COUNT:
            usage[name] = count
    return usage


def add_usage(total: dict[str, int], usage: Mapping[str, int]) -> None:
    """Adds two usages. If only one has a total, the other's total is computed from its parts."""
    whole = _total_of(total) + _total_of(usage)
    has_total = "totalTokens" in total or "totalTokens" in usage
    for name, count in usage.items():
        total[name] = min(total.get(name, 0) + count, MAX_COUNT)
    if has_total:
        total["totalTokens"] = min(whole, MAX_COUNT)


def _total_of(usage: Mapping[str, int]) -> int:
    return usage.get("totalTokens", usage.get("inputTokens", 0) + usage.get("outputTokens", 0))


def water_level(sizes: Sequence[int], limit: int) -> int:
    """
    Returns the level for which the sum of min(size, level) is within the limit. Larger values are cut to this level.
    """
    rest = limit
    ordered = sorted(sizes)
    for index, size in enumerate(ordered):
        share = rest // (len(ordered) - index)
        if size > share:
            return max(share, 0)
        rest -= size
    return limit


@dataclass
class Notes:
    """What the client records about a trace in its metadata, under `spoor`."""

    #: Number of cuts.
    cut: int = 0
    #: Spans without a slot, by kind.
    left_out: dict[str, int] = field(default_factory=dict)
    #: Whether the process ended, or dropped the trace, before the trace was ended; the same for spans.
    is_not_ended: bool = False
    spans_not_ended: int = 0


def fit(texts: dict[str, str], budget: int) -> int:
    """Cuts JSON strings, the largest first, until all are within the budget. Returns the number of cuts."""
    sizes = {name: size_of(text) for name, text in texts.items()}
    if sum(sizes.values()) <= budget:
        return 0
    level = max(water_level(list(sizes.values()), budget), MIN_BUDGET)
    cuts = 0
    for name, size in sizes.items():
        if size > level:
            written = shrink(texts[name], level)
            texts[name] = written.text
            cuts += written.cuts
    return cuts


@dataclass
class SpanText:
    """A finished span as JSON: short fields, and values that can be cut."""

    #: JSON without the braces.
    head: str
    #: The JSON of input, output and attributes.
    values: dict[str, str]
    #: One JSON string per event.
    events: list[str] = field(default_factory=list)
    id: str = ""
    parent_id: str | None = None
    kind: str = "custom"
    is_error: bool = False

    @property
    def size(self) -> int:
        values = sum(size_of(text) + len(name) + 4 for name, text in self.values.items())
        return size_of(self.head) + values + self.events_size + 16

    @property
    def events_size(self) -> int:
        return sum(size_of(event) + 1 for event in self.events)

    def shrink(self, budget: int) -> int:
        """Cuts values, and omits the oldest events, which cannot be cut. Returns the number of both."""
        cuts = 0
        while self.events and self.events_size > budget // 4:
            self.events.pop(0)
            cuts += 1
        rest = budget - size_of(self.head) - self.events_size - 100
        return cuts + fit(self.values, max(rest, MIN_BUDGET))

    @property
    def text(self) -> str:
        fields = [self.head, *(f'"{name}":{text}' for name, text in self.values.items())]
        if self.events:
            fields.append(f'"events":[{",".join(self.events)}]')
        return "{" + ",".join(fields) + "}"


def fields_text(fields: Mapping[str, object]) -> str:
    """Returns the server's own fields as JSON without the braces. None is left out."""
    return ",".join(f'"{name}":{_field_text(value)}' for name, value in fields.items() if value is not None)


def _field_text(value: object) -> str:
    if value is True:
        return "true"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{quote(name)}:{_field_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(quote(item) for item in value) + "]"
    return repr(value)


def portions(spans: Iterable[SpanText], budget: int) -> list[list[SpanText]]:
    """Splits the spans into lists of at most `limit` bytes. A larger span has its own list."""
    found: list[list[SpanText]] = []
    size = budget
    for span in spans:
        if size + span.size > budget:
            found.append([])
            size = 0
        found[-1].append(span)
        size += span.size
    return found


def trace_body(head: str, values: dict[str, str], metadata: str, spans: Sequence[SpanText]) -> bytes:
    parts = [head, *(f'"{name}":{text}' for name, text in values.items()), f'"metadata":{metadata}']
    text = ",".join(parts)
    return f'{{"schemaVersion":1,"trace":{{{text},"spans":[{",".join(span.text for span in spans)}]}}}}'.encode()


def spans_body(spans: Sequence[SpanText]) -> bytes:
    return f'{{"schemaVersion":1,"spans":[{",".join(span.text for span in spans)}]}}'.encode()


def end_body(head: str, values: dict[str, str], metadata: str, spans: Sequence[SpanText]) -> bytes:
    parts = [
        '"schemaVersion":1',
        head,
        *(f'"{name}":{text}' for name, text in values.items()),
        f'"metadata":{metadata}',
    ]
    return f'{{{",".join(parts)},"spans":[{",".join(span.text for span in spans)}]}}'.encode()


def with_notes(metadata: str, notes: Notes) -> str:
    """Returns a trace's metadata, including the client's notes under `spoor`."""
    # The server records the same facts in this form for traces from OpenTelemetry.
    left_out = {"count": sum(notes.left_out.values()), "kinds": dict(sorted(notes.left_out.items()))}
    said = {
        "cut": notes.cut or None,
        "spansLeftOut": left_out if notes.left_out else None,
        "notEnded": True if notes.is_not_ended else None,
        "spansNotEnded": notes.spans_not_ended or None,
    }
    text = fields_text(said)
    if not text:
        return metadata
    rest = metadata[1:]
    return f'{{"spoor":{{{text}}}{"" if rest == "}" else ","}{rest}'
