"""The asynchronous clients, settings and embeddings of google-genai, Mistral and Ollama, and Bedrock's streams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google import genai
from ollama import AsyncClient, Client

from spoor_client import Spoor
from tests.wrapping.wires import CLOSED_EVENTS, EVENTS, LINES, WireServer, exchanges, mistral_client

Read = Callable[[Any], Any]
MESSAGES: Any = [{"role": "user", "content": "Hi"}]


@pytest.fixture
def wire() -> Iterator[WireServer]:
    server = WireServer()
    yield server
    server.close()


def exchange(wire: str, name: str) -> Any:
    return next(each for each in exchanges(wire) if each["name"] == name)


def google_of(client: Spoor, wire: WireServer) -> Any:
    options = genai.types.HttpOptions(base_url=wire.url)
    return client.wrap_google_genai(genai.Client(api_key="none", http_options=options))


def test_google_asynchronously(client: Spoor, wire: WireServer, read: Read) -> None:
    async def main() -> Any:
        wire.framing = EVENTS
        google = google_of(client, wire)
        with client.trace("t") as trace:
            wire.exchange = exchange("google-genai", "whole")
            await google.aio.models.generate_content(model="m", contents="Hi")
            wire.exchange = exchange("google-genai", "text in pieces")
            chunks = await google.aio.models.generate_content_stream(model="m", contents="Hi")
            assert [chunk.text async for chunk in chunks] == ["Hel", "lo"]
        return trace

    spans = read(asyncio.run(main()))["spans"]
    assert [span["output"]["parts"] for span in spans] == [[{"text": "Hello"}]] * 2
    assert [span["usage"]["totalTokens"] for span in spans] == [18, 18]


def test_googles_settings_chats_and_embeddings(client: Spoor, wire: WireServer, read: Read) -> None:
    wire.framing = EVENTS
    google = google_of(client, wire)
    with client.trace("t") as trace:
        wire.exchange = exchange("google-genai", "whole")
        config = genai.types.GenerateContentConfig(system_instruction="Be short.", temperature=0.5)
        google.models.generate_content(model="m", contents="Hi", config=config)
        google.chats.create(model="m").send_message("Hi")
        wire.exchange = {"body": {"embeddings": [{"values": [0.1, 0.2]}]}}
        google.models.embed_content(model="m", contents=["a"])
    first, chat, embedding = read(trace)["spans"]
    assert first["input"] == [{"role": "system", "content": "Be short."}, "Hi"]
    assert first["attributes"]["temperature"] == 0.5
    assert chat["output"]["parts"] == [{"text": "Hello"}]
    assert (embedding["kind"], embedding["output"]) == ("embedding", {"embeddings": 1, "dimensions": 2})


def test_mistral_asynchronously_and_its_embeddings(client: Spoor, wire: WireServer, read: Read) -> None:
    wire.framing = CLOSED_EVENTS
    mistral = client.wrap_mistral(mistral_client(wire.url))

    async def main() -> Any:
        with client.trace("t") as trace:
            wire.exchange = exchange("mistral", "whole")
            await mistral.chat.complete_async(model="m", messages=MESSAGES, temperature=0.5)
            wire.exchange = exchange("mistral", "text in pieces")
            async with await mistral.chat.stream_async(model="m", messages=MESSAGES) as stream:
                assert len([event async for event in stream]) == 3
            async with await mistral.chat.stream_async(model="m", messages=MESSAGES) as stream:
                await stream.__anext__()
        return trace

    trace = asyncio.run(main())
    whole, streamed, left = read(trace)["spans"]
    assert (whole["input"], whole["attributes"]["temperature"]) == (MESSAGES, 0.5)
    assert whole["output"]["content"] == streamed["output"]["content"] == "Hello"
    assert (left["status"], left["output"]["role"]) == ("unset", "assistant")
    vectors = [{"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}]
    usage = {"prompt_tokens": 4, "total_tokens": 4, "completion_tokens": 0}
    wire.exchange = {"body": {"id": "e", "object": "list", "model": "m", "data": vectors, "usage": usage}}
    with client.trace("t") as trace:
        mistral.embeddings.create(model="m", inputs=["a"])
    (embedding,) = read(trace)["spans"]
    assert (embedding["input"], embedding["output"]) == (["a"], {"embeddings": 1, "dimensions": 2})


def test_ollama_asynchronously_and_by_position(client: Spoor, wire: WireServer, read: Read) -> None:
    wire.framing = LINES

    async def main() -> None:
        ollama = client.wrap_ollama(AsyncClient(host=wire.url))
        wire.exchange = exchange("ollama", "whole")
        await ollama.chat("m", MESSAGES)
        wire.exchange = exchange("ollama", "text in pieces")
        async for _ in await ollama.chat("m", MESSAGES, stream=True):
            pass

    with client.trace("t") as trace:
        asyncio.run(main())
        ollama = client.wrap_ollama(Client(host=wire.url))
        wire.exchange = {"body": {"model": "m", "response": "Hello", "done": True, "eval_count": 7}}
        ollama.generate("m", "Hi")
        wire.exchange = {"body": {"model": "m", "embeddings": [[0.1, 0.2]], "prompt_eval_count": 4}}
        ollama.embed("m", "Hi")
    chat, streamed, generated, embedding = read(trace)["spans"]
    assert (chat["input"], chat["model"]) == (MESSAGES, "m-real")
    assert chat["output"] == streamed["output"] == generated["output"] == {"role": "assistant", "content": "Hello"}
    assert (generated["input"], generated["usage"]["outputTokens"]) == ("Hi", 7)
    assert (embedding["output"], embedding["usage"]["inputTokens"]) == ({"embeddings": 1, "dimensions": 2}, 4)
