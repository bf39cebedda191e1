"""Tests Anthropic's own library with a fake provider on this machine (test/provider)."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
from anthropic import Anthropic, APIStatusError, AsyncAnthropic, AsyncStream, Stream
from anthropic.lib.streaming import AsyncMessageStream, MessageStream, MessageStreamManager

from spoor_client import Spoor
from spoor_client.wrapping.anthropic import MESSAGES as METHOD
from spoor_client.wrapping.calls import record_managers
from tests.conftest import has_used

Read = Callable[[Any], Any]
MESSAGES: Any = [{"role": "user", "content": "Is it sunny in Graz?"}]
SYSTEM = {"role": "system", "content": "Be short."}
ASK: Any = {"model": "claude-test", "max_tokens": 100, "system": "Be short.", "messages": MESSAGES}
TOOLS: Any = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]


@pytest.fixture
def anthropic(client: Spoor, provider: Any) -> Any:
    return client.wrap_anthropic(Anthropic(base_url=provider["url"], api_key="none", max_retries=0))


def text_of(provider: Any) -> Any:
    return {"role": "assistant", "content": [{"type": "text", "text": provider["answer"]}]}


def test_a_message_is_a_model_call_with_its_tokens(client: Spoor, anthropic: Any, provider: Any, read: Read) -> None:
    assert client.wrap_anthropic(anthropic) is anthropic
    with client.trace("t") as trace:
        assert anthropic.messages.create(**ASK, stop_sequences=["."]).content[0].type == "text"
        anthropic.beta.messages.create(**ASK)
    detail = read(trace)
    assert (detail["trace"]["provider"], detail["trace"]["model"]) == ("anthropic", "claude-test")
    assert has_used(provider, detail["trace"]["usage"], 2)
    for span in detail["spans"]:
        assert (span["name"], span["kind"], span["status"]) == ("anthropic.messages", "llm", "ok")
        assert (span["input"], span["output"]) == ([SYSTEM, *MESSAGES], text_of(provider))
        assert span["attributes"]["stop_reason"] == "end_turn"
        # The input tokens include tokens read from the cache.
        assert span["attributes"]["cache_read_input_tokens"] == provider["chatUsage"]["cached"]
    assert detail["spans"][0]["attributes"]["stop_sequences"] == ["."]


def test_streams_are_recorded_and_not_changed(client: Spoor, anthropic: Any, provider: Any, read: Read) -> None:
    with client.trace("t") as trace:
        events = anthropic.messages.create(**ASK, tools=TOOLS, stream=True)
        assert isinstance(events, Stream)
        assert [event.type for event in events][-1] == "message_stop"
        manager = anthropic.messages.stream(**ASK)
        assert isinstance(manager, MessageStreamManager)
        with client.span("within"), manager as stream:
            assert isinstance(stream, MessageStream)
            assert "".join(stream.text_stream) == provider["answer"]
        with anthropic.beta.messages.stream(**ASK) as beta:
            assert beta.get_final_message().usage.output_tokens == provider["chatUsage"]["output"]
    spans = {span["startedAt"]: span for span in read(trace)["spans"] if span["name"] != "within"}
    tool, *texts = [spans[at] for at in sorted(spans)]
    (block,) = tool["output"]["content"]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "get_weather", {"city": "Graz"})
    assert (tool["attributes"]["stop_reason"], tool["attributes"]["tools"]) == ("tool_use", TOOLS)
    assert [span["output"] for span in texts] == [text_of(provider)] * 2
    assert all(has_used(provider, span["usage"]) and span["status"] == "ok" for span in [tool, *texts])
    # The request is sent when the `with` block is entered.
    assert texts[0]["parentSpanId"] is not None and tool["parentSpanId"] is None


@pytest.mark.parametrize("how", ["closed", "collected", "left"])
def test_an_abandoned_stream_leaves_nothing_running(client: Spoor, anthropic: Any, read: Read, how: str) -> None:
    gc.disable()
    with client.trace("t") as trace:
        if how == "left":
            with anthropic.messages.stream(**ASK) as left:
                next(left)
        else:
            stream: Any = anthropic.messages.create(**ASK, tools=TOOLS, stream=True)
            for _ in range(4):
                next(stream)
            if how == "closed":
                stream.close()
            # The stream is in no reference cycle, so it is freed at once.
            del stream
    gc.enable()
    (span,) = read(trace)["spans"]
    assert span["status"] == "unset"
    assert span["events"][0]["name"] in ("not read to its end", "not ended")
    if how == "closed":
        # The input is recorded as far as it was read: the start of the JSON.
        assert span["output"]["content"][0]["input"].startswith('{"')


def test_an_asynchronous_client(client: Spoor, provider: Any, read: Read) -> None:
    async def main() -> Any:
        anthropic = client.wrap_anthropic(AsyncAnthropic(base_url=provider["url"], api_key="none", max_retries=0))
        async with client.trace("t") as trace:
            await anthropic.messages.create(**ASK)
            events = await anthropic.messages.create(**ASK, tools=TOOLS, stream=True)
            assert isinstance(events, AsyncStream)
            assert [event.type async for event in events].count("message_stop") == 1
            async with anthropic.messages.stream(**ASK) as stream:
                assert isinstance(stream, AsyncMessageStream)
                assert await stream.get_final_text() == provider["answer"]
            async with anthropic.messages.stream(**ASK) as unread:
                await unread.__anext__()
            with pytest.raises(APIStatusError):
                async with anthropic.messages.stream(**{**ASK, "model": "fail-500"}):
                    pass
        return trace

    spans = read(asyncio.run(main()))["spans"]
    assert [span["status"] for span in spans] == ["ok", "ok", "ok", "unset", "error"]
    assert spans[0]["output"] == spans[2]["output"] == text_of(provider)
    assert spans[1]["output"]["content"][0]["input"] == {"city": "Graz"}


def test_a_failing_call_raises_the_same_exception(client: Spoor, anthropic: Any, read: Read) -> None:
    with client.trace("t") as trace:
        with pytest.raises(APIStatusError):
            anthropic.messages.create(**{**ASK, "model": "fail-429"})
        with pytest.raises(APIStatusError), anthropic.messages.stream(**{**ASK, "model": "fail-400"}):
            pass
        with pytest.raises(TypeError):
            anthropic.messages.create(model="claude-test")
    spans = read(trace)["spans"]
    assert [span["status"] for span in spans] == ["error"] * 3
    assert [span["events"][0]["attributes"]["exception.type"] for span in spans] == [
        *("RateLimitError", "BadRequestError", "TypeError")
    ]


def test_raw_and_parsed_responses_are_recorded(client: Spoor, anthropic: Any, provider: Any, read: Read) -> None:
    from pydantic import BaseModel

    class Weather(BaseModel):
        city: str

    with client.trace("t") as trace:
        raw = anthropic.messages.with_raw_response.create(**ASK)
        assert raw.parse().stop_reason == "end_turn"
        assert anthropic.messages.parse(**ASK, output_format=Weather).parsed_output == Weather(city="Graz")
    spans = read(trace)["spans"]
    assert [span["status"] for span in spans] == ["ok", "ok"]
    assert spans[0]["output"] == text_of(provider)
    assert spans[1]["output"]["content"][0]["text"] == '{"city":"Graz"}'


def test_an_unknown_stream_manager_works_and_is_reported_as_not_recorded(client: Spoor) -> None:
    class Library:
        def stream(self) -> Library:
            return self

    library = Library()
    record_managers(client, library, ("stream",), METHOD)
    assert library.stream() is library
    assert client.flush(1).problems == ["anthropic.messages: streams of this version of the library are not recorded"]
