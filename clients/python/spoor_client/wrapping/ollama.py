"""Records chats, completions and embeddings of Ollama's library: of a client, or of the module's functions."""

from __future__ import annotations

from typing import Any

from .calls import Client, Method, is_client, is_of_another_client, record_calls
from .wires.ollama import OllamaReader, read_ollama, read_ollama_embeddings
from .wires.unstreamed import Unstreamed


def wrap_ollama(client: Client, library: Any) -> None:
    is_module = getattr(library, "__name__", None) == "ollama"
    if not is_module and not is_client(client, library, "chat", "wrap_ollama", "ollama.Client()"):
        return
    if is_of_another_client(client, library):
        return
    record_calls(client, library, ("chat",), _CHAT)
    record_calls(client, library, ("generate",), _GENERATE)
    record_calls(client, library, ("embed",), _EMBED)


_CHAT = Method(
    name="ollama.chat",
    provider="ollama",
    kind="llm",
    input_names=("messages",),
    describe=lambda given: given.get("messages"),
    read=read_ollama,
    reader=OllamaReader,
)

_GENERATE = Method(
    name="ollama.generate",
    provider="ollama",
    kind="llm",
    input_names=("prompt", "system", "suffix", "images"),
    describe=lambda given: given.get("prompt") if len(given) == 1 else given,
    read=read_ollama,
    reader=OllamaReader,
)

_EMBED = Method(
    name="ollama.embed",
    provider="ollama",
    kind="embedding",
    input_names=("input",),
    describe=lambda given: given.get("input"),
    read=read_ollama_embeddings,
    reader=Unstreamed,
)
