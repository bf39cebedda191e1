"""
Values of the application as JSON text of at most so many bytes. The budget is measured while writing, so that a value
of any size costs no more than its budget. What does not fit is cut where it stands, and the place says how much is
missing.

Nothing here raises: a value that cannot be written leaves a text that says so.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json.encoder
import math
import os
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

Redact = Callable[[str, Any], Any]

#: The server takes 100 levels in a body.
MAX_DEPTH = 64
#: Of an object of which nothing is known but its repr.
MAX_REPR_CHARACTERS = 2_000
MAX_STACK_CHARACTERS = 16_000
#: Room for the longest text that stands for what was cut, with what separates it from its neighbours.
MARK_BYTES = 64
#: Below this a budget is taken as this: an object with nothing but a mark in it.
MIN_BUDGET = 4 * MARK_BYTES
#: One long text must not take all room from what is behind it. So a value that does not fit is written again, with half
#: the room for each text, until what is behind fits as well, or this often. Texts below SHORT_BYTES are not worth it.
MAX_PASSES = 8
SHORT_BYTES = 1_000

_escape: Callable[[str], str] = json.encoder.encode_basestring
_escape_ascii: Callable[[str], str] = json.encoder.encode_basestring_ascii


class Written(NamedTuple):
    text: str
    #: Bytes of the text in UTF-8.
    size: int
    #: How many places were cut.
    cuts: int


def write(value: Any, budget: int, redact: Redact | None = None, key: str = "") -> Written:
    """
    JSON of a value, of at most `budget` bytes in UTF-8 (but MIN_BUDGET at least). `redact` sees every value with its
    key, or its place in a list, and the text or value that is written in place of an object.
    """
    budget = max(budget, MIN_BUDGET)
    longest = budget
    try:
        if redact is not None:
            value = _redacted(redact, key, value)
        for _ in range(MAX_PASSES):
            writer = _Writer(budget, longest, redact, key)
            writer.write(value, 1)
            if not writer.is_full or writer.longest_seen < SHORT_BYTES:
                break
            longest = min(longest, writer.longest_seen) // 2
        return writer.written()
    except Exception as error:  # An object of the application misbehaves: a property, an iterator, __str__.
        text = _escape(f"[could not be written: {type(error).__name__}]")
        return Written(text, size_of(text), 1)


def shrink(text: str, budget: int) -> Written:
    """JSON text, written again in less room. Numbers keep their digits."""
    return write(json.loads(text, parse_float=decimal.Decimal, parse_int=decimal.Decimal), budget)


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))


def quote(text: str) -> str:
    """A text as JSON. Unpaired surrogates, which UTF-8 does not have, are escaped."""
    quoted = _escape(text)
    if quoted.isascii():
        return quoted
    try:
        quoted.encode("utf-8")
        return quoted
    except UnicodeEncodeError:
        return _escape_ascii(text)


def describe_error(error: BaseException) -> dict[str, str]:
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if len(stack) > MAX_STACK_CHARACTERS:
        # The end of a stack says where it happened.
        stack = f"…[cut {len(stack) - MAX_STACK_CHARACTERS:,} characters]\n" + stack[-MAX_STACK_CHARACTERS:]
    return {"name": type(error).__name__, "message": _text_of(error), "stack": stack}


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return f"[{type(value).__name__}]"


def _redacted(redact: Redact, key: str, value: Any) -> Any:
    try:
        return redact(key, value)
    except Exception as error:  # What should perhaps not be seen is not shown.
        return f"[redact failed: {type(error).__name__}]"


class _Writer:
    """
    A caller of `write` leaves at least MARK_BYTES, so that a mark can replace any value. A container reserves the same
    number of bytes for the mark of the items it leaves out.
    """

    def __init__(self, budget: int, longest: int, redact: Redact | None, key: str) -> None:
        self.parts: list[str] = []
        self.left = budget
        self.longest = longest
        self.redact = redact
        #: Of the value that is written; only `redact` asks for it.
        self.key = key
        self.is_standing_in = False
        self.cuts = 0
        self.size = 0
        #: Something was left out, or a second text cut, since there was no room for anything more.
        self.is_full = False
        self.has_last_text = False
        #: Bytes of the longest text that was written.
        self.longest_seen = 0
        self.within: set[int] = set()

    def written(self) -> Written:
        return Written("".join(self.parts), self.size, self.cuts)

    def put(self, text: str) -> None:
        size = size_of(text)
        self.parts.append(text)
        self.left -= size
        self.size += size

    def mark(self, what: str) -> None:
        self.cuts += 1
        self.put(_escape(f"…[cut {what}]"))

    def write(self, value: Any, depth: int) -> None:
        if value is None:
            self.put("null")
        elif value is True:
            self.put("true")
        elif value is False:
            self.put("false")
        elif isinstance(value, enum.Enum):
            self.stand_in(value.value, depth)
        elif isinstance(value, str):
            self.write_text(value)
        elif isinstance(value, int):
            self.write_integer(value)
        elif isinstance(value, float):
            self.write_float(value)
        else:
            self.write_object(value, depth)

    def write_member(self, key: str, value: Any, depth: int) -> None:
        if self.redact is not None:
            self.key = key
            value = _redacted(self.redact, key, value)
        self.write(value, depth)

    def stand_in(self, value: Any, depth: int) -> None:
        """Writes what stands for an object, which `redact` has not seen yet."""
        if self.redact is None or self.is_standing_in:
            self.write(value, depth)
            return
        # Once: `redact` may return such an object itself.
        self.is_standing_in = True
        try:
            self.write(_redacted(self.redact, self.key, value), depth)
        finally:
            self.is_standing_in = False

    def write_text(self, value: str) -> None:
        room = min(self.left, self.longest)
        if len(value) <= room:
            quoted = quote(value)
            size = size_of(quoted)
            if size <= room:
                self.longest_seen = max(self.longest_seen, size)
                self.put(quoted)
                return
        if room >= self.left:
            self.is_full = self.is_full or self.has_last_text
            self.has_last_text = True
        room = max(room - MARK_BYTES, 0)
        kept = value[:room]
        size = size_of(quote(kept))
        while size > room and kept:
            kept = kept[: min(len(kept) * room // size, len(kept) - 1)]
            size = size_of(quote(kept))
        self.longest_seen = max(self.longest_seen, size)
        self.cuts += 1
        self.put(quote(f"{kept}…[cut {len(value) - len(kept):,} characters]"))

    def write_integer(self, value: int) -> None:
        try:
            text = int.__repr__(value)
        except ValueError:  # Python writes no more than 4,300 digits.
            self.mark(f"a number of {value.bit_length():,} bits")
            return
        self.put(text) if len(text) <= self.left else self.mark(f"{len(text):,} digits")

    def write_float(self, value: float) -> None:
        if math.isfinite(value):
            self.put(float.__repr__(value))
        else:
            self.put('"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"')

    def write_object(self, value: Any, depth: int) -> None:
        identity = id(value)
        if identity in self.within:
            self.put('"[circular]"')
            return
        if isinstance(value, (bytes, bytearray, memoryview)):
            self.put(f'"[{type(value).__name__} of {len(value):,} bytes]"')
            return
        self.within.add(identity)
        try:
            if isinstance(value, Mapping):
                self.write_mapping(list(value.items()), depth)
            elif isinstance(value, (list, tuple, set, frozenset, deque, Set)):
                self.write_items(list(value), depth)
            else:
                self.write_known(value, depth)
        finally:
            self.within.discard(identity)

    def write_items(self, items: Sequence[Any], depth: int) -> None:
        if not self.may_open(depth):
            return
        self.open("[")
        for index, item in enumerate(items):
            if self.left < MARK_BYTES + 1:
                self.is_full = True
                self.left += MARK_BYTES
                self.put("," if index > 0 else "")
                self.mark(f"{len(items) - index:,} items")
                self.put("]")
                return
            if index > 0:
                self.put(",")
            self.write_member(str(index), item, depth + 1)
        self.close("]")

    def write_mapping(self, items: Sequence[tuple[Any, Any]], depth: int) -> None:
        if not self.may_open(depth):
            return
        self.open("{")
        for index, (given, value) in enumerate(items):
            key = given if isinstance(given, str) else _text_of(given)
            quoted = quote(key)
            if self.left < MARK_BYTES + size_of(quoted) + 2:
                self.is_full = True
                self.left += MARK_BYTES
                self.put(',"…":' if index > 0 else '"…":')
                self.mark(f"{len(items) - index:,} keys")
                self.put("}")
                return
            self.put(f"{',' if index > 0 else ''}{quoted}:")
            self.write_member(key, value, depth + 1)
        self.close("}")

    def may_open(self, depth: int) -> bool:
        if depth > MAX_DEPTH:
            self.cuts += 1
            self.put(f'"[deeper than {MAX_DEPTH} levels]"')
            return False
        if self.left < 2 * MARK_BYTES + 2:
            self.is_full = True
            self.mark("an object")
            return False
        return True

    def open(self, bracket: str) -> None:
        self.put(bracket)
        # Kept back for the mark of what is left out, and the closing bracket.
        self.left -= MARK_BYTES + 1

    def close(self, bracket: str) -> None:
        self.left += MARK_BYTES + 1
        self.put(bracket)

    def write_known(self, value: Any, depth: int) -> None:
        if isinstance(value, decimal.Decimal):
            text = str(value)
            if not value.is_finite():
                self.write_text(text)
            elif len(text) <= self.left:
                self.put(text)
            else:
                self.mark(f"{len(text):,} digits")
        elif isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
            self.stand_in(value.isoformat(), depth)
        elif isinstance(value, (uuid.UUID, os.PathLike)):
            self.stand_in(_text_of(value), depth)
        elif isinstance(value, BaseException):
            self.write_mapping(list(describe_error(value).items()), depth)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = dataclasses.fields(value)
            self.write_mapping([(field.name, getattr(value, field.name, None)) for field in fields], depth)
        elif not isinstance(value, type) and hasattr(value, "model_dump"):
            self.write_model(value, depth)
        elif getattr(value, "shape", None) == () and hasattr(value, "item"):
            # A scalar of numpy, and of those who do as it does.
            self.write_scalar(value, depth)
        else:
            self.write_repr(value, depth)

    def write_model(self, value: Any, depth: int) -> None:
        try:
            dumped = value.model_dump(mode="json")
        except Exception:
            self.write_repr(value, depth)
        else:
            self.stand_in(dumped, depth)

    def write_scalar(self, value: Any, depth: int) -> None:
        item = value.item()
        if isinstance(item, (str, int, float, bool, datetime.datetime)) or item is None:
            self.stand_in(item, depth)
        else:
            self.write_repr(value, depth)

    def write_repr(self, value: Any, depth: int) -> None:
        try:
            text = repr(value)
        except Exception:
            text = f"[{type(value).__name__}]"
        if len(text) > MAX_REPR_CHARACTERS:
            self.cuts += 1
            text = f"{text[:MAX_REPR_CHARACTERS]}…[cut {len(text) - MAX_REPR_CHARACTERS:,} characters]"
        self.stand_in(text, depth)
