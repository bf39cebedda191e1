"""
Chat completions, which most providers and proxies imitate, and the older completions.

Pieces of parallel tool calls are told apart by id, then by index, because some providers send neither or repeat one
index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .answer import Answer, Content, cost_of, count_of, is_more, mapping_of, merged, without_nulls

_BESIDE_MESSAGE = frozenset(("index", "finish_reason", "logprobs", "message", "error"))
#: Members of an answer that Perplexity adds.
_CITATIONS = ("citations", "search_results")


def read_chat(content: Content) -> Answer:
    choices = [choice for choice in content.get("choices") or [] if isinstance(choice, Mapping)]
    messages = [_message_of(choice) for choice in choices]
    reasons = [str(choice["finish_reason"]) for choice in choices if choice.get("finish_reason")]
    answer = Answer(messages[0] if len(messages) == 1 else messages or None, content.get("model") or None)
    answer.attributes = {
        "response.id": content.get("id") or None,
        "finish_reason": ", ".join(reasons) or None,
        "service_tier": content.get("service_tier"),
        **{name: content[name] for name in _CITATIONS if content.get(name)},
    }
    failed = next((choice["error"] for choice in choices if choice.get("error")), None)
    answer.error = content.get("error") or failed
    return with_usage(answer, content.get("usage") or mapping_of(content.get("x_groq")).get("usage"))


def _message_of(choice: Content) -> Any:
    """Returns the message, or what an older or unknown API sends instead, such as `text`."""
    if choice.get("message") is not None:
        return without_nulls(choice["message"])
    return without_nulls({name: value for name, value in choice.items() if name not in _BESIDE_MESSAGE}) or None


def with_usage(answer: Answer, usage: Any) -> Answer:
    """Adds token counts with the names of chats or of Responses, and a cost that the provider states."""
    if not isinstance(usage, Mapping):
        return answer
    read = mapping_of(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    written = mapping_of(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    answer.input_tokens = count_of(usage.get("prompt_tokens"), usage.get("input_tokens"))
    answer.output_tokens = count_of(usage.get("completion_tokens"), usage.get("output_tokens"))
    answer.total_tokens = count_of(usage.get("total_tokens"))
    answer.cost_usd = cost_of(usage.get("cost"))
    answer.attributes |= {
        "cache_read_input_tokens": count_of(read.get("cached_tokens"), usage.get("prompt_cache_hit_tokens")),
        "reasoning_tokens": count_of(written.get("reasoning_tokens")),
    }
    return answer


class ChatReader:
    def __init__(self) -> None:
        self._whole: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}

    def read(self, event: Content) -> None:
        for name in ("id", "model", "service_tier", "error", *_CITATIONS):
            if event.get(name):
                self._whole[name] = event[name]
        self._read_usage(event.get("usage"))
        self._read_usage(mapping_of(event.get("x_groq")).get("usage"))
        unread: Exception | None = None
        for each in event.get("choices") or []:
            try:
                self._read_usage(each.get("usage"))
                self._choices.setdefault(each.get("index") or 0, _Choice()).read(each)
            except Exception as error:
                # The other choices are still read.
                unread = unread or error
        if unread is not None:
            raise unread

    def _read_usage(self, usage: Any) -> None:
        if is_more(usage, self._whole.get("usage")):
            self._whole["usage"] = usage

    def answer(self) -> Answer:
        choices = [choice.content for _, choice in sorted(self._choices.items(), key=lambda item: item[0])]
        return read_chat({**self._whole, "choices": choices})


class _Choice:
    def __init__(self) -> None:
        self._message: dict[str, Any] = {"role": "assistant"}
        self._calls = ToolCalls()
        #: The text of older completions, which have no messages.
        self._text = ""
        self._finish_reason: str | None = None
        self._error: Any = None

    def read(self, choice: Content) -> None:
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        self._error = choice.get("error") or self._error
        if isinstance(choice.get("text"), str):
            self._text += choice["text"]
        delta = dict(choice.get("delta") or {})
        calls = delta.pop("tool_calls", None)
        for name, value in delta.items():
            if name == "content":
                self._message[name] = _content(self._message.get(name), value)
            elif name == "function_call" and isinstance(value, Mapping):
                self._message[name] = add_function(self._message.get(name) or {}, value)
            elif value is not None:
                self._message[name] = merged(self._message.get(name), value, name)
        self._calls.read(calls)

    @property
    def content(self) -> dict[str, Any]:
        calls = self._calls.whole
        if self._text and len(self._message) == 1 and not calls:
            return {"text": self._text, "finish_reason": self._finish_reason, "error": self._error}
        message = {**self._message, "tool_calls": calls} if calls else self._message
        return {"message": message, "finish_reason": self._finish_reason, "error": self._error}


def _content(old: Any, new: Any) -> Any:
    """Continues content, which is a string or, for some models, a list of parts."""
    if new is None or old is None or (isinstance(old, str) and isinstance(new, str)):
        return merged(old, new)
    parts = _parts(old)
    for part in _parts(new):
        last = parts[-1] if parts else None
        if isinstance(last, dict) and isinstance(part, Mapping) and last.get("type") == part.get("type") != "image_url":
            parts[-1] = {
                name: _content(last.get(name), value)
                if isinstance(value, list)
                else merged(last.get(name), value, name)
                for name, value in {**last, **part}.items()
            }
        else:
            parts.append(part)
    return parts


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content) if isinstance(content, (list, tuple)) else [content]


class ToolCalls:
    """The tool calls of one message, which arrive in pieces."""

    def __init__(self) -> None:
        #: The calls with their indexes, in order of arrival.
        self._calls: list[tuple[int, dict[str, Any]]] = []

    def read(self, deltas: Any) -> None:
        unread: Exception | None = None
        for delta in deltas or []:
            if delta is None:
                continue
            try:
                self._read(delta)
            except Exception as error:
                unread = unread or error
        if unread is not None:
            raise unread

    def _read(self, delta: Content) -> None:
        index = delta.get("index")
        place = self._place_of(delta, index)
        if place is None:
            last = self._calls[-1][0] if self._calls else 0
            self._calls.append((index if isinstance(index, int) else last, {}))
            place = len(self._calls) - 1
        call = self._calls[place][1]
        for name, value in delta.items():
            if name == "index" or value is None:
                continue
            if name in ("function", "custom") and isinstance(value, Mapping):
                call[name] = add_function(call.get(name) or {}, value)
            else:
                call[name] = merged(call.get(name), value, name)

    def _place_of(self, delta: Content, index: Any) -> int | None:
        """Returns the index of the call that a piece continues; None if it starts a call."""
        places = range(len(self._calls) - 1, -1, -1)
        given = delta.get("id")
        if given:
            same = next((place for place in places if self._calls[place][1].get("id") == given), None)
            if same is not None:
                return same
        same = next((place for place in places if index is None or self._calls[place][0] == index), None)
        if same is None:
            return None
        call = self._calls[same][1]
        if given and call.get("id"):
            return None
        return None if _is_complete(call) and _names(delta) else same

    @property
    def whole(self) -> list[dict[str, Any]]:
        return [_whole(call) for _, call in sorted(self._calls, key=lambda item: item[0])]


def _names(delta: Content) -> bool:
    return any(mapping_of(delta.get(part)).get("name") for part in ("function", "custom"))


def _is_complete(call: Content) -> bool:
    """Returns whether a call's arguments are complete, so that a piece with a name starts another call."""
    given = mapping_of(call.get("function")).get("arguments")
    if not isinstance(given, str):
        return given is not None
    try:
        json.loads(given)
        return True
    except ValueError:
        return False


def _whole(call: dict[str, Any]) -> dict[str, Any]:
    """Arguments are recorded as JSON text, although some providers send an object."""
    function = call.get("function")
    if isinstance(function, dict) and not isinstance(function.get("arguments", ""), str):
        function = {
            **function,
            "arguments": json.dumps(function["arguments"], separators=(",", ":"), ensure_ascii=False),
        }
    if "custom" in call:
        return {"type": "custom", **call}
    return {"type": "function", **call, "function": function or {"name": "", "arguments": ""}}


def add_function(old: Content, delta: Content) -> dict[str, Any]:
    """Continues a function's name and arguments. Some providers repeat the whole name in each piece."""
    function = dict(old)
    for name, value in delta.items():
        if value is None or (name == "name" and value == function.get("name")):
            continue
        function[name] = merged(function.get(name), value)
    return function
