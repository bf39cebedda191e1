"""Records chat completions, responses and embeddings of OpenAI's library, synchronous or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .calls import Answer, Client, Content, Method, record_calls, resource_of, without_nulls


def wrap_openai(client: Client, library: Any) -> None:
    record_calls(client, resource_of(library, "chat.completions"), ("create", "parse"), _CHAT)
    record_calls(client, resource_of(library, "responses"), ("create", "parse"), _RESPONSES)
    record_calls(client, resource_of(library, "embeddings"), ("create",), _EMBEDDINGS)


def _with_usage(answer: Answer, usage: Any) -> Answer:
    if isinstance(usage, dict):
        answer.input_tokens = usage.get("prompt_tokens", usage.get("input_tokens"))
        answer.output_tokens = usage.get("completion_tokens", usage.get("output_tokens"))
        answer.total_tokens = usage.get("total_tokens")
    return answer


# Chats.


def _read_chat(content: Content) -> Answer:
    choices = content.get("choices") or []
    messages = [without_nulls(choice["message"]) for choice in choices]
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    answer = Answer(messages[0] if len(messages) == 1 else messages, content.get("model"))
    answer.attributes = {"response.id": content.get("id"), "finish_reason": ", ".join(reasons) or None}
    return _with_usage(answer, content.get("usage"))


def _gather_chat(events: Sequence[Content]) -> Answer:
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for event in events:
        whole.update({name: event[name] for name in ("id", "model", "usage") if event.get(name)})
        for each in event.get("choices") or []:
            choice = choices.setdefault(each.get("index", 0), {"message": {"role": "assistant"}})
            choice["finish_reason"] = each.get("finish_reason") or choice.get("finish_reason")
            _add_delta(choice["message"], each.get("delta") or {})
    if not choices:
        return _with_usage(Answer(model=whole.get("model")), whole.get("usage"))
    return _read_chat({**whole, "choices": [choice for _, choice in sorted(choices.items())]})


def _add_delta(message: dict[str, Any], delta: Content) -> None:
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


def _add_call(calls: list[dict[str, Any]], delta: Content) -> None:
    """The parts of a call arrive one by one, with the call's index."""
    place = delta.get("index", len(calls))
    while len(calls) <= place:
        calls.append({"type": "function", "function": {"name": "", "arguments": ""}})
    call = calls[place]
    if delta.get("id"):
        call["id"] = delta["id"]
    function = delta.get("function") or {}
    for key in ("name", "arguments"):
        call["function"][key] += function.get(key) or ""


_CHAT = Method(
    name="openai.chat",
    provider="openai",
    kind="llm",
    input_names=("messages",),
    describe=lambda given: given.get("messages"),
    read=_read_chat,
    gather=_gather_chat,
)

# Responses.


def _describe_response(given: Content) -> Any:
    asked, instructions = given.get("input"), given.get("instructions")
    if not instructions:
        return asked
    messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    system = {"role": "system", "content": instructions}
    return [system, *messages] if isinstance(messages, (list, tuple)) else given


def _read_response(content: Content) -> Answer:
    answer = Answer(without_nulls(content.get("output")), content.get("model"))
    answer.attributes = {"response.id": content.get("id"), "response.status": content.get("status")}
    answer.is_failed = content.get("status") == "failed"
    return _with_usage(answer, content.get("usage"))


def _gather_response(events: Sequence[Content]) -> Answer:
    for event in reversed(events):
        if event["type"] in ("response.completed", "response.incomplete", "response.failed") and event.get("response"):
            return _read_response(event["response"])
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    return Answer(text or None)


_RESPONSES = Method(
    name="openai.responses",
    provider="openai",
    kind="llm",
    input_names=("input", "instructions"),
    describe=_describe_response,
    read=_read_response,
    gather=_gather_response,
)

# Embeddings.


def _read_embeddings(content: Content) -> Answer:
    vectors = content.get("data") or []
    size = len(vectors[0].get("embedding") or ()) if vectors else 0
    # The vectors are omitted, because nobody reads them and they would take up most of the storage.
    answer = Answer({"embeddings": len(vectors), "dimensions": size}, content.get("model"))
    return _with_usage(answer, content.get("usage"))


_EMBEDDINGS = Method(
    name="openai.embeddings",
    provider="openai",
    kind="embedding",
    input_names=("input",),
    describe=lambda given: given.get("input"),
    read=_read_embeddings,
    gather=lambda events: Answer(),
)
