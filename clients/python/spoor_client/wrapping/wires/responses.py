"""
OpenAI's Responses. A stream's last event usually has the whole response. Proxies leave its output empty, and a stream
may end before it, so the output is also assembled from its items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .answer import Answer, Content, mapping_of, without_nulls
from .chat import with_usage

#: The item's field that a delta continues; for fields that are lists of parts, also the field of the part.
_DELTAS = {
    "response.output_text.delta": ("content", "output_text", "text"),
    "response.refusal.delta": ("content", "refusal", "refusal"),
    "response.reasoning_text.delta": ("content", "reasoning_text", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_text", "text"),
    "response.function_call_arguments.delta": ("arguments",),
    "response.mcp_call_arguments.delta": ("arguments",),
    "response.custom_tool_call_input.delta": ("input",),
    "response.code_interpreter_call_code.delta": ("code",),
}
_TYPES = {
    "arguments": "function_call",
    "input": "custom_tool_call",
    "code": "code_interpreter_call",
    "summary": "reasoning",
}


def read_response(content: Content) -> Answer:
    answer = Answer(without_nulls(content.get("output")) or None, content.get("model") or None)
    answer.attributes = {
        "response.id": content.get("id"),
        "response.status": content.get("status"),
        "incomplete_details": without_nulls(content.get("incomplete_details")),
        "service_tier": content.get("service_tier"),
    }
    answer.error = without_nulls(content.get("error"))
    if content.get("status") == "failed":
        answer.error = answer.error or "the response failed"
    answer.is_cancelled = content.get("status") == "cancelled"
    return with_usage(answer, content.get("usage"))


class ResponseReader:
    def __init__(self) -> None:
        self._whole: dict[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}

    def read(self, event: Content) -> None:
        kind = event.get("type")
        if isinstance(event.get("response"), Mapping):
            self._whole |= without_nulls(event["response"])
        elif kind == "error":
            self._whole["error"] = {
                name: event[name] for name in ("code", "message", "param") if event.get(name) is not None
            } or event.get("error")
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._items[_index_of(event, "output_index")] = dict(event["item"])
        elif kind == "response.content_part.added":
            self._part(event, "content", mapping_of(event["part"]))
        elif kind == "response.reasoning_summary_part.added":
            self._part(event, "summary", mapping_of(event["part"]))
        elif kind in _DELTAS:
            self._continue(event, *_DELTAS[kind])

    def _continue(self, event: Content, field: str, part_type: str = "", part_field: str = "") -> None:
        delta = event["delta"]
        if not isinstance(delta, str):
            raise TypeError(f"the delta is {type(delta).__name__}, not a text")
        place = self._item(event, field)
        if part_field:
            place = self._part(event, field, {"type": part_type})
            field = part_field
        place[field] = (place.get(field) or "") + delta

    def _item(self, event: Content, field: str) -> dict[str, Any]:
        return self._items.setdefault(_index_of(event, "output_index"), {"type": _TYPES.get(field, "message")})

    def _part(self, event: Content, field: str, start: Content) -> dict[str, Any]:
        """Returns the part of a message or reasoning that an event starts or continues."""
        item = self._item(event, field)
        # The list and its parts belong to the event that started the item.
        parts: list[dict[str, Any]]
        parts = item[field] = [dict(part) for part in item.get(field) or []]
        index = _index_of(event, f"{field}_index")
        if index >= len(parts):
            parts.append(dict(start))
        return parts[min(index, len(parts) - 1)]

    def answer(self) -> Answer:
        output = self._whole.get("output") or [item for _, item in sorted(self._items.items())]
        return read_response({**self._whole, "output": output or None})


def _index_of(event: Content, name: str) -> int:
    index = event.get(name)
    return index if isinstance(index, int) else 0


def describe_response(given: Content) -> Any:
    asked, instructions = given.get("input"), given.get("instructions")
    if not instructions:
        return asked
    messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    system = {"role": "system", "content": instructions}
    return [system, *messages] if isinstance(messages, (list, tuple)) else given


def read_embeddings(content: Content) -> Answer:
    vectors = content.get("data") or []
    first = mapping_of(vectors[0]).get("embedding") if vectors else None
    size = len(first) if isinstance(first, (list, tuple)) else None
    # The vectors are omitted, because nobody reads them and they would take up most of the storage.
    answer = Answer(without_nulls({"embeddings": len(vectors), "dimensions": size}), content.get("model"))
    answer.error = content.get("error")
    return with_usage(answer, content.get("usage"))
