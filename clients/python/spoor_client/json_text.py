"""Splits JSON into members and items without parsing their values, so that copied values keep every digit. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]

from .values import quote

_SPACE = re.compile(r"[ \t\n\r]*")
# Numbers of any length are skipped, not parsed.
_decode = json.JSONDecoder(parse_int=len, parse_float=len).raw_decode


def members(text: str) -> dict[str, str]:
    """Returns the JSON of an object's values by name. Raises ValueError if the text is not an object."""
    found: dict[str, str] = {}
    at = _behind(text, 0, "{")
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise ValueError("a name is missing")
        name, at = scanstring(text, at + 1)
        start = _behind(text, at, ":")
        end = _decode(text, start)[1]
        found[name] = text[start:end]
        at = _behind_item(text, end, "}")
    return found


def items(text: str) -> list[str]:
    """Returns the JSON of an array's items. Raises ValueError if the text is not an array."""
    found: list[str] = []
    at = _behind(text, 0, "[")
    while text[at : at + 1] != "]":
        end = _decode(text, at)[1]
        found.append(text[at:end])
        at = _behind_item(text, end, "]")
    return found


def object_text(given: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{quote(name)}:{text}" for name, text in given.items()) + "}"


def array_text(given: Iterable[str]) -> str:
    return f"[{','.join(given)}]"


def _behind(text: str, at: int, sign: str) -> int:
    at = _skip_space(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"{sign} is missing")
    return _skip_space(text, at + 1)


def _behind_item(text: str, at: int, last: str) -> int:
    at = _skip_space(text, at)
    return at if text[at : at + 1] == last else _behind(text, at, ",")


def _skip_space(text: str, at: int) -> int:
    matched = _SPACE.match(text, at)
    return at if matched is None else matched.end()
