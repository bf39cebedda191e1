"""
The bodies that the server takes (`POST /api/v1/traces` and what belongs to a running trace), made so that no rule of
size refuses them. Pure: texts in, texts out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .values import MIN_BUDGET, quote, shrink, size_of

Kind = Literal["llm", "agent", "tool", "chain", "retriever", "embedding", "reranker", "custom"]
Status = Literal["ok", "error", "unset"]
KINDS: frozenset[str] = frozenset(get_args(Kind))
STATUSES: frozenset[str] = frozenset(get_args(Status))

# The server's rules (the OpenAPI document has them); the budgets stay below what it takes.
MAX_SPANS = 200
MAX_TAGS = 20
MAX_EVENTS = 50
MAX_NAME = 500
MAX_TEXT = 200
MAX_TAG = 64
MAX_COUNT = 2**53 - 1
#: Of a trace without its spans, and of each span: the server takes 768,000 bytes.
DOCUMENT_BUDGET = 700_000
#: Of a whole body: the server takes 2,097,152 bytes.
BODY_BUDGET = 2_000_000
#: Of the attributes of one event.
EVENT_BUDGET = 32_000

USAGE_FIELDS = ("inputTokens", "outputTokens", "totalTokens")
#: Text columns of the server refuse these.
_REFUSED = re.compile("[\x00\ud800-\udfff]")


def short_text(value: object, longest: int) -> str | None:
    """A text of 1 to so many characters, or None."""
    text = _REFUSED.sub("�", value if isinstance(value, str) else str(value))[:longest]
    return text or None


def tags_of(values: Iterable[object]) -> list[str]:
    texts = (short_text(value, MAX_TAG) for value in values)
    return list(dict.fromkeys(text for text in texts if text is not None))


def usage_of(given: Mapping[str, Any]) -> dict[str, int]:
    """Token counts, of what may be anything: others than whole numbers in the server's range are left out."""
    usage = {}
    for name in USAGE_FIELDS:
        count = given.get(name)
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_COUNT:
            usage[name] = count
    return usage


def add_usage(total: dict[str, int], usage: Mapping[str, int]) -> None:
    """A total that only one of them has is completed from the other's parts."""
    whole = _total_of(total) + _total_of(usage)
    has_total = "totalTokens" in total or "totalTokens" in usage
    for name, count in usage.items():
        total[name] = min(total.get(name, 0) + count, MAX_COUNT)
    if has_total:
        total["totalTokens"] = min(whole, MAX_COUNT)


def _total_of(usage: Mapping[str, int]) -> int:
    return usage.get("totalTokens", usage.get("inputTokens", 0) + usage.get("outputTokens", 0))


def water_level(sizes: Sequence[int], limit: int) -> int:
    """The level for which the sum of min(size, level) is within the limit: what is larger is cut down to it."""
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
    """What the client has to say of a trace, in its metadata under `spoor`."""

    #: How many places were cut.
    cut: int = 0
    #: Spans for which there was no room, by kind.
    left_out: dict[str, int] = field(default_factory=dict)
    #: The process ended, or dropped the trace, before the trace was ended; the same of spans.
    is_not_ended: bool = False
    spans_not_ended: int = 0


def fit(texts: dict[str, str], budget: int) -> int:
    """Cuts JSON texts, the largest first, until all are within the budget. Returns how many places were cut."""
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
    """A finished span as JSON: fields that are short, and values that may be cut."""

    #: Without the braces.
    head: str
    #: input, output, attributes.
    values: dict[str, str]
    #: An event each.
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
        """Cuts values; events, which the server wants whole, are left out from the oldest on. Returns how many were."""
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
    """Fields of the server's own as JSON, without the braces; None is left out."""
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
    """The spans in lists of no more bytes than this, unless one alone has more."""
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
    """The metadata of a trace, with what the client has to say of it under `spoor`."""
    # As the server says it of traces that OpenTelemetry sends.
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
