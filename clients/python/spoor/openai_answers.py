"""What an answer of OpenAI says, whole or as the events of a stream. Pure; works on whatever has these attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Answer:
    output: Any = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    is_failed: bool = False


def answer_of(result: Any, kind: str) -> Answer:
    dump = getattr(result, "model_dump", None)
    if dump is None:
        # A raw response: what is in it is the application's to read.
        return Answer(output=None)
    content = dump(mode="json")
    if kind == "embedding":
        vectors = content.get("data") or []
        size = len(vectors[0].get("embedding") or ()) if vectors else 0
        # The vectors themselves say nothing to people.
        output: Any = {"embeddings": len(vectors), "dimensions": size}
    elif "choices" in content:
        choices = content["choices"] or []
        output = choices[0]["message"] if len(choices) == 1 else choices
        output = _without_nulls(output)
    else:
        output = _without_nulls(content.get("output", content))
    return _with_usage(
        Answer(output, content.get("model"), is_failed=content.get("status") == "failed"), content.get("usage")
    )


def _with_usage(answer: Answer, usage: Any) -> Answer:
    if isinstance(usage, dict):
        answer.input_tokens = usage.get("prompt_tokens", usage.get("input_tokens"))
        answer.output_tokens = usage.get("completion_tokens", usage.get("output_tokens"))
        answer.total_tokens = usage.get("total_tokens")
    return answer


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def gather(events: Sequence[Any]) -> Answer:
    """The answer that the events of a stream make, as far as they go."""
    contents = [event.model_dump(mode="json") for event in events if hasattr(event, "model_dump")]
    if any(str(content.get("type", "")).startswith("response.") for content in contents):
        return _gather_response(contents)
    return _gather_chat(contents)


def _gather_response(contents: Sequence[dict[str, Any]]) -> Answer:
    for content in reversed(contents):
        response = content.get("response")
        if content["type"] in ("response.completed", "response.incomplete", "response.failed") and response:
            answer = Answer(_without_nulls(response.get("output")), response.get("model"))
            answer.is_failed = content["type"] == "response.failed"
            return _with_usage(answer, response.get("usage"))
    text = "".join(each["delta"] for each in contents if each["type"] == "response.output_text.delta")
    return Answer(text or None)


def _gather_chat(contents: Sequence[dict[str, Any]]) -> Answer:
    answer = Answer()
    choices: dict[int, dict[str, Any]] = {}
    for content in contents:
        answer.model = content.get("model") or answer.model
        _with_usage(answer, content.get("usage"))
        for choice in content.get("choices") or []:
            message = choices.setdefault(choice.get("index", 0), {"role": "assistant"})
            _add_delta(message, choice.get("delta") or {})
    if choices:
        messages = [message for _, message in sorted(choices.items())]
        answer.output = messages[0] if len(messages) == 1 else messages
    return answer


def _add_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key, value in delta.items():
        if value is None:
            continue
        if key == "tool_calls":
            calls = message.setdefault("tool_calls", [])
            for call in value:
                _add_call(calls, call)
        elif isinstance(value, str) and key != "role":
            message[key] = message.get(key, "") + value
        else:
            message[key] = value


def _add_call(calls: list[dict[str, Any]], delta: dict[str, Any]) -> None:
    """The parts of a call come one by one, by its place."""
    place = delta.get("index", len(calls))
    while len(calls) <= place:
        calls.append({"type": "function", "function": {"name": "", "arguments": ""}})
    call = calls[place]
    if delta.get("id"):
        call["id"] = delta["id"]
    function = delta.get("function") or {}
    for key in ("name", "arguments"):
        call["function"][key] += function.get(key) or ""
