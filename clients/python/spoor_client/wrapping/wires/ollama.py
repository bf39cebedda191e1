"""Ollama's chats, completions (`generate`) and embeddings."""

from __future__ import annotations

from typing import Any

from .answer import Answer, Content, count_of, mapping_of, merged, without_nulls
from .chat import ToolCalls


class OllamaReader:
    """Reads the lines of a stream, or a whole answer, which is like a stream of one line."""

    def __init__(self) -> None:
        self._whole: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._calls = ToolCalls()

    def read(self, event: Content) -> None:
        self._whole |= without_nulls({name: value for name, value in event.items() if name != "message"})
        message = dict(mapping_of(event.get("message")))
        if isinstance(event.get("response"), str):
            message |= {"role": "assistant", "content": event["response"], "thinking": event.get("thinking")}
        calls = message.pop("tool_calls", None)
        for name, value in message.items():
            if value is not None:
                self._message[name] = merged(self._message.get(name), value, name)
        self._calls.read(calls)

    def answer(self) -> Answer:
        calls = self._calls.whole
        message = {**self._message, "tool_calls": calls} if calls else self._message
        answer = Answer({name: value for name, value in message.items() if value != ""} or None)
        answer.model = self._whole.get("model") or None
        answer.input_tokens = count_of(self._whole.get("prompt_eval_count"))
        answer.output_tokens = count_of(self._whole.get("eval_count"))
        answer.attributes = {"finish_reason": self._whole.get("done_reason")}
        answer.error = self._whole.get("error")
        return answer


def read_ollama(content: Content) -> Answer:
    reader = OllamaReader()
    reader.read(content)
    return reader.answer()


def read_ollama_embeddings(content: Content) -> Answer:
    vectors = content.get("embeddings") or []
    output = {"embeddings": len(vectors), "dimensions": len(vectors[0]) if vectors else None}
    return Answer(without_nulls(output), content.get("model"), input_tokens=count_of(content.get("prompt_eval_count")))
