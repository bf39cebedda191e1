"""
The answer of a model call, which is what a step records, and what the readers of all wires share.

Providers and proxies deviate from each other's formats in many ways. A reader therefore expects nothing: an unknown
field is kept, and an unreadable event does not affect the others.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Content = Mapping[str, Any]

MAX_COUNT = 2**53 - 1
#: Fields whose strings are whole in each delta; strings of all other fields continue the previous ones.
_WHOLE = frozenset(("id", "type", "role", "object", "format", "mime_type", "mimeType"))


@dataclass
class Answer:
    output: Any = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    #: What the provider says about a failed call: an object or a text.
    error: Any = None
    #: Whether the provider says that the call was cancelled.
    is_cancelled: bool = False


class Reader(Protocol):
    """Assembles the answer from a stream's events, as far as they were read."""

    def read(self, event: Content) -> None: ...

    def answer(self) -> Answer: ...


class GuardedReader:
    """Reads events one by one, so that an unreadable event does not affect the others."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._count = 0
        self._unread = 0
        self._first: Exception | None = None

    def read(self, content_of: Callable[[], Content]) -> None:
        self._count += 1
        try:
            self._reader.read(content_of())
        except Exception as error:
            self._unread += 1
            self._first = self._first or error

    def answer(self) -> Answer:
        try:
            return self._reader.answer()
        except Exception as error:
            self._unread = self._count
            self._first = self._first or error
            return Answer()

    @property
    def problem(self) -> str | None:
        """Returns a sentence about the events that could not be read."""
        if self._first is None:
            return None
        return f"{self._unread} of {self._count} events of a stream could not be read: {self._first!r}"


def count_of(*values: Any) -> int | None:
    """Returns the first of these values that is a count of tokens."""
    for value in values:
        if isinstance(value, bool):
            continue
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and 0 <= value <= MAX_COUNT:
            return value
    return None


def cost_of(value: Any) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    return None


def mapping_of(value: Any) -> Content:
    return value if isinstance(value, Mapping) else {}


def is_more(usage: Any, known: Any) -> bool:
    """Returns whether a usage replaces the known one. Some providers end a stream with counts that are all 0."""
    return isinstance(usage, Mapping) and bool(usage) and (not known or any(map(count_of, usage.values())))


def merged(old: Any, new: Any, name: str = "") -> Any:
    """
    Continues a value by a delta: strings and lists are continued, objects are merged, and list items with an `index`
    continue the item with the same index.
    """
    if new is None:
        return old
    if isinstance(old, str) and isinstance(new, str):
        return new or old if name in _WHOLE else old + new
    if isinstance(old, dict) and isinstance(new, Mapping):
        return {**old, **{key: merged(old.get(key), value, key) for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        items = list(old)
        for item in new:
            place = _place_of(items, item)
            if place is None:
                items.append(item)
            else:
                items[place] = merged(items[place], item)
        return items
    return new


def _place_of(items: list[Any], item: Any) -> int | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("index"), int):
        return None
    same = (item["index"], item.get("type"))
    for place, each in enumerate(items):
        if isinstance(each, Mapping) and (each.get("index"), each.get("type", same[1])) == same:
            return place
    return None


def without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, (list, tuple)) else value


def json_or_text(text: str) -> Any:
    """Returns the value of JSON that arrived in pieces, or its text if pieces are missing."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text
