"""Google's generateContent, with the wire's names (camel case)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .answer import Answer, Content, count_of, is_more, mapping_of, without_nulls


def read_gemini(content: Content) -> Answer:
    candidates = [each for each in content.get("candidates") or [] if isinstance(each, Mapping)]
    messages = [without_nulls(each.get("content")) for each in candidates]
    reasons = [str(each["finishReason"]) for each in candidates if each.get("finishReason")]
    answer = Answer(messages[0] if len(messages) == 1 else messages or None, content.get("modelVersion") or None)
    answer.attributes = {
        "response.id": content.get("responseId"),
        "finish_reason": ", ".join(reasons) or None,
        "prompt_feedback": without_nulls(content.get("promptFeedback")) or None,
        "grounding_metadata": next(
            (without_nulls(each["groundingMetadata"]) for each in candidates if each.get("groundingMetadata")), None
        ),
    }
    answer.error = content.get("error")
    usage = mapping_of(content.get("usageMetadata"))
    answer.input_tokens = _sum(usage, "promptTokenCount", "toolUsePromptTokenCount")
    # Thoughts are not part of the candidates' tokens.
    answer.output_tokens = _sum(usage, "candidatesTokenCount", "thoughtsTokenCount")
    answer.total_tokens = count_of(usage.get("totalTokenCount"))
    answer.attributes |= {
        "cache_read_input_tokens": count_of(usage.get("cachedContentTokenCount")),
        "reasoning_tokens": count_of(usage.get("thoughtsTokenCount")),
    }
    return answer


def _sum(usage: Content, *names: str) -> int | None:
    counts = [count for count in (count_of(usage.get(name)) for name in names) if count is not None]
    return sum(counts) if counts else None


class GeminiReader:
    def __init__(self) -> None:
        self._whole: dict[str, Any] = {}
        self._candidates: dict[int, dict[str, Any]] = {}

    def read(self, event: Content) -> None:
        for name in ("responseId", "modelVersion", "promptFeedback", "error"):
            if event.get(name):
                self._whole[name] = event[name]
        if is_more(event.get("usageMetadata"), self._whole.get("usageMetadata")):
            self._whole["usageMetadata"] = event["usageMetadata"]
        for each in event.get("candidates") or []:
            candidate = self._candidates.setdefault(each.get("index") or 0, {"content": {"role": "model", "parts": []}})
            for name in ("finishReason", "groundingMetadata"):
                candidate[name] = each.get(name) or candidate.get(name)
            parts = candidate["content"]["parts"]
            for part in mapping_of(each.get("content")).get("parts") or []:
                _add_part(parts, without_nulls(part))

    def answer(self) -> Answer:
        candidates = [candidate for _, candidate in sorted(self._candidates.items())]
        return read_gemini({**self._whole, "candidates": candidates})


def _add_part(parts: list[Any], part: dict[str, Any]) -> None:
    """Continues the last text, unless one of the two is a thought and the other is not."""
    last = parts[-1] if parts else {}
    if (
        isinstance(part.get("text"), str)
        and isinstance(last.get("text"), str)
        and last.get("thought") == part.get("thought")
    ):
        parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
    else:
        parts.append(part)


def describe_gemini(given: Content) -> Any:
    contents, system = given.get("contents"), given.get("system_instruction")
    if system is None:
        return contents
    return [{"role": "system", "content": system}, *(contents if isinstance(contents, (list, tuple)) else [contents])]


def read_gemini_embeddings(content: Content) -> Answer:
    vectors = content.get("embeddings") or []
    values = mapping_of(vectors[0]).get("values") if vectors else None
    return Answer(without_nulls({"embeddings": len(vectors), "dimensions": len(values) if values else None}))
