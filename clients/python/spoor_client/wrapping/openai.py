"""Records chat completions, completions, responses and embeddings of OpenAI's library, synchronous or not."""

from __future__ import annotations

from typing import Any

from .calls import (
    Client,
    Method,
    is_client,
    is_of_another_client,
    record_calls,
    record_derived,
    record_when_used,
    resource_of,
)
from .wires.chat import ChatReader, read_chat
from .wires.responses import ResponseReader, describe_response, read_embeddings, read_response
from .wires.unstreamed import Unstreamed


def wrap_openai(client: Client, library: Any) -> None:
    if not is_client(client, library, "chat.completions.create", "wrap_openai", "OpenAI()"):
        return
    chat = resource_of(library, "chat.completions")
    if is_of_another_client(client, library, chat):
        return
    record_calls(client, chat, ("create", "parse"), _CHAT)
    record_when_used(
        library,
        {
            "beta": lambda beta: record_calls(
                client, resource_of(beta, "chat.completions"), ("create", "parse"), _CHAT
            ),
            "completions": lambda resource: record_calls(client, resource, ("create",), _COMPLETIONS),
            "responses": lambda resource: record_calls(client, resource, ("create", "parse"), _RESPONSES),
            "embeddings": lambda resource: record_calls(client, resource, ("create",), _EMBEDDINGS),
        },
    )
    record_derived(client, library, ("copy", "with_options"), wrap_openai)


_CHAT = Method(
    name="openai.chat",
    provider="openai",
    kind="llm",
    input_names=("messages",),
    describe=lambda given: given.get("messages"),
    read=read_chat,
    reader=ChatReader,
)

_COMPLETIONS = Method(
    name="openai.completions",
    provider="openai",
    kind="llm",
    input_names=("prompt",),
    describe=lambda given: given.get("prompt"),
    read=read_chat,
    reader=ChatReader,
)

_RESPONSES = Method(
    name="openai.responses",
    provider="openai",
    kind="llm",
    input_names=("input", "instructions"),
    describe=describe_response,
    read=read_response,
    reader=ResponseReader,
)

_EMBEDDINGS = Method(
    name="openai.embeddings",
    provider="openai",
    kind="embedding",
    input_names=("input",),
    describe=lambda given: given.get("input"),
    read=read_embeddings,
    reader=Unstreamed,
)
