"""Records messages of Anthropic's library, synchronous or not, including those of `beta`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .calls import Answer, Client, Content, Method, record_calls, record_managers, resource_of, without_nulls


def wrap_anthropic(client: Client, library: Any) -> None:
    for path in ("messages", "beta.messages"):
        resource = resource_of(library, path)
        record_calls(client, resource, ("create", "parse"), _MESSAGES)
        record_managers(client, resource, ("stream",), _MESSAGES)


def _describe(given: Content) -> Any:
    messages, system = given.get("messages"), given.get("system")
    if system is None:
        return messages
    # A value that is not a list may be iterable only once.
    return [{"role": "system", "content": system}, *messages] if isinstance(messages, (list, tuple)) else given


def _read(content: Content) -> Answer:
    usage = content.get("usage") or {}
    written, read = usage.get("cache_creation_input_tokens") or 0, usage.get("cache_read_input_tokens") or 0
    answer = Answer({"role": content.get("role"), "content": without_nulls(content.get("content"))})
    answer.model = content.get("model")
    if usage:
        # `input_tokens` excludes cached tokens.
        answer.input_tokens = (usage.get("input_tokens") or 0) + written + read
        answer.output_tokens = usage.get("output_tokens")
    answer.attributes = {
        "response.id": content.get("id"),
        "stop_reason": content.get("stop_reason"),
        "cache_creation_input_tokens": written or None,
        "cache_read_input_tokens": read or None,
    }
    return answer


def _gather(events: Sequence[Content]) -> Answer:
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    #: The JSON of each tool input, which arrives in pieces.
    inputs: dict[int, str] = {}
    for event in events:
        kind, index = event["type"], event.get("index", 0)
        if kind == "message_start":
            message = dict(event["message"])
        elif kind == "content_block_start":
            blocks[index] = dict(event["content_block"])
        elif kind == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "input_json_delta":
                inputs[index] = inputs.get(index, "") + delta["partial_json"]
            else:
                _add_delta(blocks[index], delta)
        elif kind == "message_delta":
            message |= without_nulls(event.get("delta") or {})
            message["usage"] = {**(message.get("usage") or {}), **without_nulls(event.get("usage") or {})}
    if not message:
        return Answer()
    for index, text in inputs.items():
        blocks[index]["input"] = _json_or_text(text)
    return _read({**message, "content": [block for _, block in sorted(blocks.items())]})


def _add_delta(block: dict[str, Any], delta: Content) -> None:
    if delta["type"] == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        return
    # The deltas `text`, `thinking` and `signature`, each with a field of the same name.
    for name, value in delta.items():
        if name != "type" and isinstance(value, str):
            block[name] = (block.get(name) or "") + value


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError:  # The application has not read the rest.
        return text


_MESSAGES = Method(
    name="anthropic.messages",
    provider="anthropic",
    kind="llm",
    input_names=("system", "messages"),
    describe=_describe,
    read=_read,
    gather=_gather,
)
