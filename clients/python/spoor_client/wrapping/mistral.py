"""Records chats, completions in the middle and embeddings of Mistral's library, synchronous or not."""

from __future__ import annotations

from typing import Any

from .calls import Client, Method, is_client, is_of_another_client, record_calls, resource_of
from .wires.answer import Content
from .wires.chat import ChatReader, read_chat
from .wires.responses import read_embeddings
from .wires.unstreamed import Unstreamed

_ALL = ("complete", "complete_async", "stream", "stream_async")


def wrap_mistral(client: Client, library: Any) -> None:
    if not is_client(client, library, "chat.complete", "wrap_mistral", "Mistral()"):
        return
    chat = resource_of(library, "chat")
    if is_of_another_client(client, chat):
        return
    record_calls(client, chat, _ALL, _CHAT)
    record_calls(client, resource_of(library, "agents"), _ALL, _CHAT)
    record_calls(client, resource_of(library, "fim"), _ALL, _FIM)
    record_calls(client, resource_of(library, "embeddings"), ("create", "create_async"), _EMBEDDINGS)


class MistralReader(ChatReader):
    def read(self, event: Content) -> None:
        super().read(event.get("data") or event)


_CHAT = Method(
    name="mistral.chat",
    provider="mistral",
    kind="llm",
    input_names=("messages",),
    describe=lambda given: given.get("messages"),
    read=read_chat,
    reader=MistralReader,
)

_FIM = Method(
    name="mistral.fim",
    provider="mistral",
    kind="llm",
    input_names=("prompt", "suffix"),
    describe=lambda given: given if "suffix" in given else given.get("prompt"),
    read=read_chat,
    reader=MistralReader,
)

_EMBEDDINGS = Method(
    name="mistral.embeddings",
    provider="mistral",
    kind="embedding",
    input_names=("inputs",),
    describe=lambda given: given.get("inputs"),
    read=read_embeddings,
    reader=Unstreamed,
)
