"""
The client gives scores no id, so a score whose response was lost may already be stored. Before it is sent again, the
trace's scores are read and compared with it. Pure.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from ..document import short_text
from ..values import REDACTED, Redact, redacted, redacted_text, scalar_of

_TRACE_ID = re.compile("[0-9a-fA-F]{32}")
MAX_COMMENT = 2_000
MAX_CATEGORY = 200
_FIELDS = ("name", "dataType", "value", "comment", "spanId")


def is_trace_id(value: object) -> bool:
    return isinstance(value, str) and _TRACE_ID.fullmatch(value) is not None


def value_of(given: object) -> float | bool | str:
    """Returns the value of a score. Raises ValueError if the given value cannot be one."""
    value = scalar_of(given)
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"a score's value must be a number, a boolean or a string, not {type(given).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a score's value must be finite, not {value!r}")
    return value


def score_body(
    name: str, value: float | bool | str, comment: str | None, span_id: str | None, redact: Redact | None = None
) -> bytes:
    """Raises ValueError if the value cannot be a score's value."""
    value = value_of(value)
    if redact is not None:
        shown = redacted(redact, "score_value", value)
        is_valid = isinstance(shown, str) or (not isinstance(value, str) and isinstance(shown, (bool, int, float)))
        value = value_of(shown) if is_valid else REDACTED
        comment = None if comment is None else redacted_text(redact, "score_comment", comment)
    if isinstance(value, bool):
        data_type = "boolean"
    elif isinstance(value, (int, float)):
        data_type = "numeric"
    else:
        data_type, value = "categorical", short_text(value, MAX_CATEGORY) or ""
    body: dict[str, Any] = {"name": name, "dataType": data_type, "value": value}
    if comment is not None:
        body["comment"] = short_text(comment, MAX_COMMENT) or ""
    if span_id is not None:
        body["spanId"] = span_id
    return json.dumps(body).encode()


def count_equal(body: bytes, answer: bytes) -> int | None:
    """
    Returns the number of scores in a response (`GET …/scores`) that equal this score; None if the response is invalid.
    """
    try:
        wanted = json.loads(body)
        scores = json.loads(answer)["scores"]
        return sum(all(score[name] == wanted.get(name) for name in _FIELDS) for score in scores)
    except (ValueError, KeyError, TypeError):
        return None
