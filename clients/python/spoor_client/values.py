"""
Writes an application's values as JSON within a budget of bytes. The budget is checked during writing, so a value of any
size costs no more than its budget. Data beyond the budget is cut where it occurs, and a mark says how much is missing.

Nothing here raises: a value that cannot be written is replaced by a string that says so.
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

#: The server accepts 100 levels in a body.
MAX_DEPTH = 64
#: Maximum number of characters of an object's repr, if nothing else is known about the object.
MAX_REPR_CHARACTERS = 2_000
MAX_STACK_CHARACTERS = 16_000
#: Bytes for the longest mark that replaces cut data, including its separators.
MARK_BYTES = 64
#: The minimum budget, which allows an object that contains only a mark.
MIN_BUDGET = 4 * MARK_BYTES
#: A long string must not use up the space of later values. A value that does not fit is therefore written again, with
#: half the space for each string, until later values fit, or until this number of passes. Strings below SHORT_BYTES are
#: not worth another pass.
MAX_PASSES = 8
SHORT_BYTES = 1_000

#: Replaces a text for which `redact` returned a value that is not text.
REDACTED = "[redacted]"

_escape: Callable[[str], str] = json.encoder.encode_basestring
_escape_ascii: Callable[[str], str] = json.encoder.encode_basestring_ascii


class Written(NamedTuple):
    text: str
    #: The JSON's size in UTF-8, in bytes.
    size: int
    #: Number of cuts.
    cuts: int


def write(value: Any, budget: int, redact: Redact | None = None, key: str = "") -> Written:
    """
    Returns a value's JSON, with at most `budget` bytes in UTF-8 (but at least MIN_BUDGET). `redact` receives every
    value with its key or list index, and every string or value that replaces an object.
    """
    budget = max(budget, MIN_BUDGET)
    longest = budget
    try:
        if redact is not None:
            value = redacted(redact, key, value)
        writer = _Writer(budget, longest, redact, key)
        writer.write(value, 1)
        for _ in range(MAX_PASSES - 1):
            if not writer.is_full or writer.longest_seen < SHORT_BYTES:
                break
            longest = min(longest, writer.longest_seen) // 2
            writer = _Writer(budget, longest, redact, key)
            writer.write(value, 1)
        return writer.written()
    except Exception as error:  # A property, an iterator or __str__ of the application raised an error.
        text = _escape(f"[could not be written: {type(error).__name__}]")
        return Written(text, size_of(text), 1)


def shrink(text: str, budget: int) -> Written:
    """Writes JSON again within a smaller budget. Numbers keep their digits."""
    return write(json.loads(text, parse_float=decimal.Decimal, parse_int=decimal.Decimal), budget)


def scalar_of(value: Any) -> Any:
    """Returns the Python value of a scalar of numpy, or of a library with the same interface, and of a Decimal."""
    if value is None or isinstance(value, (int, float, str)):
        return value
    try:
        if isinstance(value, decimal.Decimal):
            return float(value)
        is_scalar = not isinstance(value, type) and getattr(value, "shape", None) == () and hasattr(value, "item")
        return value.item() if is_scalar else value
    except Exception:  # A signalling NaN, or a property of the application raised an error.
        return value


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))


def quote(text: str) -> str:
    """Writes a string as JSON. Unpaired surrogates, which UTF-8 cannot represent, are escaped."""
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
        # The end of a stack trace says where the error occurred.
        stack = f"…[cut {len(stack) - MAX_STACK_CHARACTERS:,} characters]\n" + stack[-MAX_STACK_CHARACTERS:]
    return {"name": type(error).__name__, "message": _text_of(error), "stack": stack}


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return f"[{type(value).__name__}]"


def redacted(redact: Redact, key: str, value: Any) -> Any:
    try:
        return redact(key, value)
    except Exception as error:  # The value may be secret, so it is not shown.
        return f"[redact failed: {type(error).__name__}]"


def redacted_text(redact: Redact | None, name: str, value: Any) -> Any:
    """Returns what to record instead of a value that must be a text, such as the name of a step."""
    if redact is None:
        return value
    text = redacted(redact, name, value)
    return text if isinstance(text, str) else REDACTED


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
        #: The key of the current value, which only `redact` needs.
        self.key = key
        self.is_standing_in = False
        self.cuts = 0
        self.size = 0
        #: Whether data was left out, or a second string was cut, because the budget was used up.
        self.is_full = False
        self.has_last_text = False
        #: Bytes of the longest string so far.
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
            value = redacted(self.redact, key, value)
        self.write(value, depth)

    def stand_in(self, value: Any, depth: int) -> None:
        """Writes the value that replaces an object. `redact` has not received this value yet."""
        if self.redact is None or self.is_standing_in:
            self.write(value, depth)
            return
        # Only once, because `redact` may itself return such an object.
        self.is_standing_in = True
        try:
            self.write(redacted(self.redact, self.key, value), depth)
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
        except ValueError:  # Python formats at most 4,300 digits.
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
        keys: set[str] = set()
        for index, (given, value) in enumerate(items):
            original = given if isinstance(given, str) else _text_of(given)
            key = self.redacted_key(original, keys)
            quoted = quote(key)
            if self.left < MARK_BYTES + size_of(quoted) + 2:
                self.is_full = True
                self.left += MARK_BYTES
                self.put(',"…":' if index > 0 else '"…":')
                self.mark(f"{len(items) - index:,} keys")
                self.put("}")
                return
            self.put(f"{',' if index > 0 else ''}{quoted}:")
            self.write_member(original, value, depth + 1)
        self.close("}")

    def redacted_key(self, key: str, others: set[str]) -> str:
        """A key has no name, so `redact` receives it with the name "". Keys that become equal are numbered."""
        if self.redact is None:
            return key
        given = text = redacted_text(self.redact, "", key)
        number = 2
        while text in others:
            text = f"{given} {number}"
            number += 1
        others.add(text)
        return str(text)

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
        # Reserved for the mark of omitted items, and the closing bracket.
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
            # The value is a scalar of numpy, or of a library with the same interface.
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
