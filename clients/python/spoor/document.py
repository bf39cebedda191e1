"""
The bodies that the server takes (`POST /api/v1/traces` and what belongs to a running trace), made so that no rule of
size refuses them. Pure: texts in, texts out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .values import MIN_BUDGET, quote, shrink, size_of, write

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

    def leave_out(self, kind: str) -> None:
        self.left_out[kind] = self.left_out.get(kind, 0) + 1


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

    kind: str
    is_error: bool
    #: Without the braces.
    head: str
    #: input, output, attributes.
    values: dict[str, str]
    #: An event each.
    events: list[str] = field(default_factory=list)

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
        return "{" + ",".join(f"{quote(name)}:{count}" for name, count in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(quote(item) for item in value) + "]"
    return repr(value)


def keep_span(spans: list[SpanText], span: SpanText, notes: Notes, most: int = MAX_SPANS) -> None:
    """
    Adds a span, if there is room. Beyond 200 an error takes the place of the newest span that is none, or else of the
    oldest error: the newest errors are kept. What is left out is counted by its kind.
    """
    if len(spans) < most:
        spans.append(span)
        return
    if not span.is_error or not spans:
        notes.leave_out(span.kind)
        return
    victim = next((index for index in range(len(spans) - 1, -1, -1) if not spans[index].is_error), 0)
    notes.leave_out(spans.pop(victim).kind)
    spans.append(span)


def fit_spans(spans: Sequence[SpanText], budget: int) -> int:
    """Cuts the largest spans until all are within the budget. Returns how many places were cut."""
    sizes = [span.size for span in spans]
    if sum(sizes) <= budget:
        return 0
    level = water_level(sizes, budget)
    return sum(span.shrink(level) for span, size in zip(spans, sizes, strict=True) if size > level)


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
    said = {
        "cut": notes.cut or None,
        "spansLeftOut": notes.left_out or None,
        "notEnded": True if notes.is_not_ended else None,
        "spansNotEnded": notes.spans_not_ended or None,
    }
    text = fields_text(said)
    if not text:
        return metadata
    rest = metadata[1:]
    return f'{{"spoor":{{{text}}}{"" if rest == "}" else ","}{rest}'


#: What is cut when the server, or a proxy before it, takes less than these budgets.
_CUT_HARDER = ("input", "output", "attributes", "metadata")


def cut_harder(body: bytes) -> bytes:
    """A body of a trace, of spans or of an end with half the room for each of its values, and without events."""
    content = json.loads(body)
    document = content.get("trace", content)
    cuts = sum(_halve(each) for each in [document, *document.get("spans", [])])
    if "trace" in content or "endedAt" in content:
        metadata = document.setdefault("metadata", {})
        notes = metadata.get("spoor")
        notes = notes if isinstance(notes, dict) else {}
        metadata["spoor"] = {**notes, "cut": cuts + notes.get("cut", 0)}
    try:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(content, separators=(",", ":")).encode()


def _halve(document: dict[str, Any]) -> int:
    cuts = 1 if document.pop("events", None) else 0
    for name in _CUT_HARDER:
        if document.get(name):
            whole = write(document[name], BODY_BUDGET)
            written = write(document[name], whole.size // 2)
            document[name] = json.loads(written.text)
            cuts += written.cuts
    return cuts
