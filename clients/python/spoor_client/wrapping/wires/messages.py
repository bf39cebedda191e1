"""Anthropic's messages."""

from __future__ import annotations

from typing import Any

from .answer import Answer, Content, count_of, json_or_text, mapping_of, without_nulls

#: The type of the block that a delta continues, if the block's start did not arrive.
_BLOCKS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "tool_use"}


def read_message(content: Content) -> Answer:
    usage = mapping_of(content.get("usage"))
    counts = [count_of(usage.get(name)) for name in ("cache_creation_input_tokens", "cache_read_input_tokens")]
    written, read = counts
    output = without_nulls({"role": content.get("role"), "content": content.get("content")})
    answer = Answer(output or None, content.get("model") or None)
    given = count_of(usage.get("input_tokens"))
    if given is not None or any(counts):
        # `input_tokens` excludes cached tokens.
        answer.input_tokens = (given or 0) + (written or 0) + (read or 0)
    answer.output_tokens = count_of(usage.get("output_tokens"))
    answer.attributes = {
        "response.id": content.get("id"),
        "stop_reason": content.get("stop_reason"),
        "stop_sequence": content.get("stop_sequence"),
        "stop_details": without_nulls(content.get("stop_details")),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "service_tier": usage.get("service_tier"),
    }
    answer.error = content.get("error")
    return answer


class MessageReader:
    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        #: The JSON of each tool input, which arrives in pieces.
        self._inputs: dict[int, str] = {}

    def read(self, event: Content) -> None:
        kind, index = event.get("type"), event.get("index") or 0
        if kind == "message_start":
            self._message = dict(event["message"])
            self._usage = without_nulls(mapping_of(self._message.get("usage")))
            # This counts only the first tokens. The end of the stream has the total.
            self._usage.pop("output_tokens", None)
        elif kind == "content_block_start":
            self._blocks[index] = dict(event["content_block"])
        elif kind == "content_block_delta":
            self._read_delta(index, event["delta"])
        elif kind == "message_delta":
            self._message |= without_nulls(event.get("delta") or {})
            self._usage |= without_nulls(mapping_of(event.get("usage")))
        elif kind == "error":
            self._message["error"] = event.get("error") or "the stream failed"

    def _read_delta(self, index: int, delta: Content) -> None:
        kind = str(delta["type"])
        if index not in self._blocks:
            self._blocks[index] = {"type": _BLOCKS.get(kind, "text")}
        block = self._blocks[index]
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        else:
            # The deltas `text`, `thinking` and `signature`, each with a field of the same name.
            name = kind.removesuffix("_delta")
            if isinstance(delta.get(name), str):
                block[name] = (block.get(name) or "") + delta[name]

    def answer(self) -> Answer:
        for index, text in self._inputs.items():
            if text:
                self._blocks[index]["input"] = json_or_text(text)
        content = [block for _, block in sorted(self._blocks.items())]
        if content:
            self._message["content"] = content
        return read_message({**self._message, "usage": self._usage})


def describe_message(given: Content) -> Any:
    messages, system = given.get("messages"), given.get("system")
    if system is None:
        return messages
    # A value that is not a list may be iterable only once.
    return [{"role": "system", "content": system}, *messages] if isinstance(messages, (list, tuple)) else given
