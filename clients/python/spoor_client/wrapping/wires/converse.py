"""Converse of Amazon Bedrock."""

from __future__ import annotations

from typing import Any

from .answer import Answer, Content, count_of, json_or_text, mapping_of, merged, without_nulls


def read_converse(content: Content) -> Answer:
    usage = mapping_of(content.get("usage"))
    answer = Answer(without_nulls(mapping_of(content.get("output")).get("message")))
    read, written = count_of(usage.get("cacheReadInputTokens")), count_of(usage.get("cacheWriteInputTokens"))
    given = count_of(usage.get("inputTokens"))
    if given is not None:
        # `inputTokens` excludes cached tokens.
        answer.input_tokens = given + (read or 0) + (written or 0)
    answer.output_tokens = count_of(usage.get("outputTokens"))
    answer.total_tokens = count_of(usage.get("totalTokens"))
    answer.attributes = {
        "response.id": mapping_of(content.get("ResponseMetadata")).get("RequestId"),
        "stop_reason": content.get("stopReason"),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }
    return answer


class ConverseReader:
    def __init__(self) -> None:
        self._whole: dict[str, Any] = {}
        self._role = "assistant"
        self._blocks: dict[int, dict[str, Any]] = {}
        #: The JSON of each tool input, which arrives in pieces.
        self._inputs: dict[int, str] = {}

    def read(self, event: Content) -> None:
        for name, value in event.items():
            if name == "messageStart":
                self._role = value["role"]
            elif name == "contentBlockStart":
                self._block(value).update(value["start"])
            elif name == "contentBlockDelta":
                self._read_delta(value, dict(value["delta"]))
            elif name == "messageStop":
                self._whole["stopReason"] = value["stopReason"]
            elif name == "metadata":
                self._whole["usage"] = value.get("usage")

    def _block(self, value: Content) -> dict[str, Any]:
        return self._blocks.setdefault(value.get("contentBlockIndex") or 0, {})

    def _read_delta(self, value: Content, delta: dict[str, Any]) -> None:
        block = self._block(value)
        tool = delta.pop("toolUse", None)
        if tool is not None:
            index = value.get("contentBlockIndex") or 0
            self._inputs[index] = self._inputs.get(index, "") + tool["input"]
        if "reasoningContent" in delta:
            thought = dict(delta.pop("reasoningContent"))
            if "text" in thought or "signature" in thought:
                thought = {"reasoningText": thought}
            delta["reasoningContent"] = thought
        for name, part in delta.items():
            block[name] = merged(block.get(name), part, name)

    def answer(self) -> Answer:
        for index, text in self._inputs.items():
            self._blocks[index]["toolUse"] = {**self._blocks[index].get("toolUse", {}), "input": json_or_text(text)}
        content = [block for _, block in sorted(self._blocks.items())]
        message = {"role": self._role, "content": content} if content else None
        return read_converse({**self._whole, "output": {"message": message}})


def describe_converse(given: Content) -> Any:
    messages, system = given.get("messages"), given.get("system")
    if not system:
        return messages
    return [{"role": "system", "content": system}, *messages] if isinstance(messages, (list, tuple)) else given
