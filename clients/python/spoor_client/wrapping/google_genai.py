"""Records generated contents and embeddings of Google's library google-genai, synchronous or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .calls import Client, Method, is_client, is_of_another_client, record_calls, resource_of
from .wires.gemini import GeminiReader, describe_gemini, read_gemini, read_gemini_embeddings
from .wires.unstreamed import Unstreamed


def wrap_google_genai(client: Client, library: Any) -> None:
    if not is_client(client, library, "models.generate_content", "wrap_google_genai", "genai.Client()"):
        return
    models = [resource_of(library, path) for path in ("models", "aio.models")]
    if is_of_another_client(client, *models):
        return
    for resource in models:
        record_calls(client, resource, ("generate_content", "generate_content_stream"), _GENERATE)
        record_calls(client, resource, ("embed_content",), _EMBED)


def _prepare(given: dict[str, Any]) -> dict[str, Any]:
    """Settings are members of `config`, which is an object or a dictionary."""
    config = given.pop("config", None)
    if config is not None and not isinstance(config, Mapping):
        config = config.model_dump(exclude_none=True, warnings=False)
    return {**(config or {}), **given}


_GENERATE = Method(
    name="google.generate_content",
    provider="google",
    kind="llm",
    input_names=("contents", "system_instruction"),
    describe=describe_gemini,
    read=read_gemini,
    reader=GeminiReader,
    prepare=_prepare,
)

_EMBED = Method(
    name="google.embed_content",
    provider="google",
    kind="embedding",
    input_names=("contents",),
    describe=lambda given: given.get("contents"),
    read=read_gemini_embeddings,
    reader=Unstreamed,
    prepare=_prepare,
)
