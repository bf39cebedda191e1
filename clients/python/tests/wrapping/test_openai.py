"""Tests OpenAI's own library with a fake provider on this machine (test/provider)."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI, OpenAI, Stream

from spoor_client import Spoor
from tests.conftest import has_used

Read = Callable[[Any], Any]
MESSAGES: Any = [{"role": "user", "content": "What is the answer?"}]


@pytest.fixture
def openai(client: Spoor, provider: Any) -> OpenAI:
    return client.wrap_openai(OpenAI(base_url=f"{provider['url']}/v1", api_key="none", max_retries=0))


def the_span(detail: Any) -> Any:
    (span,) = detail["spans"]
    return span


def test_a_chat_is_a_model_call_with_its_tokens(client: Spoor, openai: OpenAI, provider: Any, read: Read) -> None:
    with client.trace("t") as trace:
        answer = openai.chat.completions.create(model="gpt-4o-mini", messages=MESSAGES, temperature=0.5)
    assert answer.choices[0].message.content == provider["answer"]
    detail = read(trace)
    span = the_span(detail)
    assert (span["kind"], span["provider"], span["status"]) == ("llm", "openai", "ok")
    assert (span["input"], span["attributes"]["temperature"]) == (MESSAGES, 0.5)
    assert span["attributes"]["finish_reason"] == "stop"
    assert (span["output"]["role"], span["output"]["content"]) == ("assistant", provider["answer"])
    assert has_used(provider, span["usage"])
    assert detail["trace"]["usage"] == span["usage"]
    assert detail["trace"]["model"] == span["model"] == answer.model


def test_a_stream_is_recorded_and_not_changed(client: Spoor, openai: OpenAI, provider: Any, read: Read) -> None:
    options: Any = {"model": "gpt-4o-mini", "messages": MESSAGES, "stream": True}
    with client.trace("t") as trace:
        stream = openai.chat.completions.create(**options, stream_options={"include_usage": True})
        assert isinstance(stream, Stream)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert text == provider["answer"]
    span = the_span(read(trace))
    assert (span["output"]["content"], span["attributes"]["finish_reason"]) == (provider["answer"], "stop")
    assert has_used(provider, span["usage"])


@pytest.mark.parametrize("how", ["closed", "collected"])
def test_an_abandoned_stream_leaves_nothing_running(client: Spoor, openai: OpenAI, read: Read, how: str) -> None:
    with client.trace("t") as trace:
        stream: Any = openai.chat.completions.create(model="gpt-4o-mini", messages=MESSAGES, stream=True)
        next(stream)
        if how == "closed":
            stream.close()
        del stream
        gc.collect()
    span = the_span(read(trace))
    assert span["status"] == "unset"
    assert span["events"][0]["name"] in ("not read to its end", "not ended")


def test_responses_and_embeddings(client: Spoor, openai: OpenAI, provider: Any, read: Read) -> None:
    with client.trace("t") as trace:
        openai.responses.create(model="gpt-4o-mini", input="What is the answer?", instructions="Be short.")
        stream = openai.responses.create(model="gpt-4o-mini", input="What is the answer?", stream=True)
        assert [event.type for event in stream][-1] == "response.completed"
        openai.embeddings.create(model="text-embedding-3-small", input=["a", "b"])
    spans = read(trace)["spans"]
    assert [span["kind"] for span in spans] == ["llm", "llm", "embedding"]
    assert spans[0]["input"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "What is the answer?"},
    ]
    assert (spans[1]["input"], spans[2]["input"]) == ("What is the answer?", ["a", "b"])
    assert provider["answer"] in json.dumps(spans[0]["output"])
    assert spans[1]["output"] == spans[0]["output"] or provider["answer"] in json.dumps(spans[1]["output"])
    assert spans[0]["usage"]["totalTokens"] == spans[1]["usage"]["totalTokens"] > 0
    assert spans[2]["output"]["dimensions"] > 0


def test_an_asynchronous_client(client: Spoor, provider: Any, read: Read) -> None:
    async def main() -> Any:
        openai = client.wrap_openai(AsyncOpenAI(base_url=f"{provider['url']}/v1", api_key="none"))
        async with client.trace("t") as trace:
            options: Any = {"model": "gpt-4o-mini", "messages": MESSAGES}
            await openai.chat.completions.create(**options)
            stream = await openai.chat.completions.create(**options, stream=True)
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
            assert text == provider["answer"]
            unread = await openai.chat.completions.create(**options, stream=True)
            await unread.close()
        return trace

    spans = read(asyncio.run(main()))["spans"]
    assert [span["status"] for span in spans] == ["ok", "ok", "unset"]
    assert [span["output"]["content"] for span in spans[:2]] == [provider["answer"]] * 2


def test_a_failed_call_raises_the_same_exception(client: Spoor, openai: OpenAI, read: Read) -> None:
    with client.trace("t") as trace, pytest.raises(APIStatusError):
        openai.chat.completions.create(model="fail-500", messages=MESSAGES)
    span = the_span(read(trace))
    assert span["status"] == "error"
    assert "Error" in span["events"][0]["attributes"]["exception.type"]


def test_a_call_outside_a_trace_gets_one_and_wrapping_twice_records_once(
    client: Spoor, openai: OpenAI, provider: Any
) -> None:
    client.wrap_openai(openai)
    openai.chat.completions.create(model="gpt-4o-mini", messages=MESSAGES)
    assert client.flush(20).sent == 1
