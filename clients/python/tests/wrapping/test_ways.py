"""The other ways to call OpenAI's and Anthropic's libraries: derived clients, raw responses, helpers, streams left."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from spoor_client import Spoor
from spoor_client.wrapping.results import UNPARSED, Called, StreamReading
from spoor_client.wrapping.wires.answer import Answer
from spoor_client.wrapping.wires.chat import ChatReader, read_chat
from tests.conftest import Run, Server
from tests.wrapping.wires import WireServer, exchanges

Read = Callable[[Any], Any]
CHAT: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
MESSAGE: Any = {**CHAT, "max_tokens": 9}
HELLO = {"role": "assistant", "content": "Hello"}


def exchange(wire: str, name: str) -> Any:
    return next(each for each in exchanges(wire) if each["name"] == name)


WHOLE = {
    "body": {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m-real",
        "choices": [{"index": 0, "finish_reason": "stop", "message": HELLO}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
}


def chunk(delta: Any, **choice: Any) -> Any:
    choices = [{"index": 0, "delta": delta, **choice}]
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-real", "choices": choices}


STREAM = {
    "chunks": [
        chunk({"role": "assistant", "content": "Hel"}),
        chunk({"content": "lo"}),
        chunk({}, finish_reason="stop"),
        {**chunk({}), "choices": [], "usage": WHOLE["body"]["usage"]},
    ]
}


@pytest.fixture
def wire() -> Iterator[WireServer]:
    server = WireServer()
    server.exchange = WHOLE
    yield server
    server.close()


@pytest.fixture
def openai(client: Spoor, wire: WireServer) -> OpenAI:
    return client.wrap_openai(OpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0))


def the_span(detail: Any) -> Any:
    (span,) = detail["spans"]
    return span


def test_derived_clients_are_recorded(client: Spoor, openai: OpenAI, wire: WireServer, read: Read) -> None:
    anthropic = client.wrap_anthropic(Anthropic(base_url=wire.url, api_key="none", max_retries=0))
    with client.trace("t") as trace:
        openai.with_options(timeout=9).chat.completions.create(**CHAT)
        openai.copy(timeout=9).with_options(timeout=8).chat.completions.create(**CHAT)
        wire.exchange = exchange("anthropic", "whole")
        anthropic.with_options(timeout=9).messages.create(**MESSAGE)
    assert [span["status"] for span in read(trace)["spans"]] == ["ok"] * 3


def test_wrapping_imports_nothing_from_the_library(run: Run) -> None:
    program = """
import sys
import spoor_client as spoor
from openai import OpenAI
from anthropic import Anthropic
openai, anthropic = OpenAI(api_key="none"), Anthropic(api_key="none")
openai.chat.completions, anthropic.messages
before = set(sys.modules)
client = spoor.Spoor(spool=False)
client.wrap_openai(client.wrap_openai(openai)); client.wrap_anthropic(anthropic)
imported = {name for name in set(sys.modules) - before if name.startswith(("openai", "anthropic"))}
assert imported == set(), imported
assert isinstance(openai, OpenAI) and type(openai).__name__ == "OpenAI"
"""
    result = run(program)
    assert result.returncode == 0, result.stderr


def test_chats_of_beta_and_structured_outputs_are_recorded_without_warnings(
    client: Spoor, openai: OpenAI, wire: WireServer, read: Read
) -> None:
    class City(BaseModel):
        city: str

    message = {"role": "assistant", "content": '{"city":"Graz"}'}
    wire.exchange = {"body": {**WHOLE["body"], "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}}
    with client.trace("t") as trace, warnings.catch_warnings():
        warnings.simplefilter("error")
        for completions in (openai.chat.completions, openai.beta.chat.completions):
            answer = completions.parse(**CHAT, response_format=City)
            assert answer.choices[0].message.parsed == City(city="Graz")
    spans = read(trace)["spans"]
    assert [span["output"]["content"] for span in spans] == ['{"city":"Graz"}'] * 2
    assert spans[0]["attributes"]["response_format"]["properties"] == {"city": {"title": "City", "type": "string"}}


def test_completions_are_recorded(client: Spoor, openai: OpenAI, wire: WireServer, read: Read) -> None:
    wire.exchange = {"body": {**WHOLE["body"], "choices": [{"index": 0, "finish_reason": "stop", "text": "Hello"}]}}
    with client.trace("t") as trace:
        openai.completions.create(model="m", prompt="Hi")
    span = the_span(read(trace))
    assert (span["input"], span["output"], span["usage"]["totalTokens"]) == ("Hi", {"text": "Hello"}, 18)


def test_raw_responses_are_recorded(client: Spoor, openai: OpenAI, wire: WireServer, read: Read) -> None:
    with client.trace("t") as trace:
        raw = openai.chat.completions.with_raw_response.create(**CHAT)
        assert raw.headers["content-type"] == "application/json"
        assert raw.parse().choices[0].message.content == "Hello"
        with openai.chat.completions.with_streaming_response.create(**CHAT) as streaming:
            assert streaming.parse().choices[0].message.content == "Hello"
        wire.exchange = STREAM
        assert len(list(openai.chat.completions.with_raw_response.create(**CHAT, stream=True).parse())) == 4
        with openai.chat.completions.with_streaming_response.create(**CHAT, stream=True) as streaming:
            assert len(list(streaming.parse())) == 4
    spans = read(trace)["spans"]
    assert [(span["status"], span["output"], span["usage"]["totalTokens"]) for span in spans] == [("ok", HELLO, 18)] * 4


def test_an_unparsed_raw_response_is_marked(client: Spoor, openai: OpenAI, wire: WireServer, read: Read) -> None:
    with client.trace("t") as trace:
        with openai.chat.completions.with_streaming_response.create(**CHAT) as streaming:
            assert b"Hello" in streaming.read()
        wire.exchange = {"raw": ["no chat"]}
        raw = openai.chat.completions.with_raw_response.create(**CHAT, stream=True)
        assert b"no chat" in b"".join(raw.http_response.iter_bytes())
    spans = read(trace)["spans"]
    assert [span["status"] for span in spans] == ["unset"] * 2
    assert [span["attributes"]["spoor.unread"] for span in spans] == [UNPARSED] * 2


def test_raw_responses_of_the_asynchronous_client_are_recorded(client: Spoor, wire: WireServer, read: Read) -> None:
    async def main() -> Any:
        openai = client.wrap_openai(AsyncOpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0))
        completions = openai.chat.completions
        async with client.trace("t") as trace:
            (await completions.with_raw_response.create(**CHAT)).parse()
            async with completions.with_streaming_response.create(**CHAT) as streaming:
                await streaming.parse()
            wire.exchange = STREAM
            async with completions.with_streaming_response.create(**CHAT, stream=True) as streaming:
                assert len([event async for event in await streaming.parse()]) == 4
            async for _ in await openai.with_options(timeout=9).chat.completions.create(**CHAT, stream=True):
                break
        return trace

    spans = read(asyncio.run(main()))["spans"]
    assert [span["output"]["content"] for span in spans] == ["Hello", "Hello", "Hello", "Hel"]
    assert [span["status"] for span in spans] == ["ok", "ok", "ok", "unset"]


def read_one(stream: Any) -> None:
    for _ in stream:
        break


HELD: list[Any] = []


def leave(openai: Any) -> None:
    read_one(openai.chat.completions.create(**CHAT, stream=True))


def leave_and_keep(openai: Any) -> None:
    HELD.append(openai.chat.completions.create(**CHAT, stream=True))
    read_one(HELD[-1])


def forget(openai: Any) -> None:
    next(openai.chat.completions.create(**CHAT, stream=True))


def leave_the_helper(openai: Any) -> None:
    with openai.chat.completions.stream(**CHAT) as stream:
        read_one(stream)


LEFT = {
    "by break": leave,
    "by break, and kept in a variable": leave_and_keep,
    "by next, and forgotten": forget,
    "in the library's helper": leave_the_helper,
}


@pytest.mark.parametrize("how", LEFT)
def test_an_abandoned_stream_keeps_what_was_read_and_is_sent_at_once(
    client: Spoor, openai: OpenAI, wire: WireServer, how: str
) -> None:
    wire.exchange = STREAM
    gc.disable()
    with client.trace("t") as trace:
        LEFT[how](openai)
    result = client.flush(5)
    gc.enable()
    assert result.is_complete, result
    span = the_span(client.traces.get(trace.id))
    assert (span["output"], span["status"], span["model"]) == (
        {"role": "assistant", "content": "Hel"},
        "unset",
        "m-real",
    )
    assert [event["name"] for event in span["events"]] == ["not read to its end"]


def test_a_stream_ends_once_however_it_ends(client: Spoor, read: Read) -> None:
    class Slow(ChatReader):
        def answer(self) -> Answer:
            time.sleep(0.05)
            return super().answer()

    with client.trace("t") as trace:
        span = trace.start_span("s")
        reading = StreamReading(Called(span, "p", read_chat, Slow, client.problem, True, True))
        threads = [threading.Thread(target=reading.stop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [event["name"] for event in the_span(read(trace))["events"]] == ["not read to its end"]


def test_a_loop_can_continue_after_a_break(client: Spoor, openai: OpenAI, wire: WireServer, read: Read) -> None:
    wire.exchange = STREAM
    with client.trace("t") as trace:
        stream = openai.chat.completions.create(**CHAT, stream=True)
        read_one(stream)
        assert len(list(stream)) == 3
    span = the_span(read(trace))
    assert (span["output"], span["status"]) == (HELLO, "ok")


def test_a_stream_that_is_read_after_its_trace_has_ended_and_then_abandoned(
    client: Spoor, openai: OpenAI, wire: WireServer
) -> None:
    wire.exchange = STREAM
    with client.trace("t") as trace:
        stream: Any = openai.chat.completions.create(**CHAT, stream=True)
    assert client.flush(1).kept == 1
    read_one(stream)
    deadline = time.monotonic() + 5
    while not trace.is_finished and time.monotonic() < deadline:
        time.sleep(0.01)
    assert client.flush(5).is_complete
    assert the_span(client.traces.get(trace.id))["output"]["content"] == "Hel"


def test_a_cancelled_task_abandons_its_stream(client: Spoor, wire: WireServer, read: Read) -> None:
    pause = threading.Event()
    wire.exchange = {**STREAM, "pause": (1, pause)}

    async def main() -> Any:
        openai = client.wrap_openai(AsyncOpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0))
        begun = asyncio.Event()

        async def go() -> None:
            async for _ in await openai.chat.completions.create(**CHAT, stream=True):
                begun.set()

        with client.trace("t") as trace:
            task = asyncio.create_task(go())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        pause.set()
        return trace

    span = the_span(read(asyncio.run(main())))
    assert (span["status"], span["output"]["content"]) == ("unset", "Hel")


def test_an_object_is_recorded_by_one_client(server: Server, wire: WireServer, tmp_path: Path) -> None:
    problems: list[str] = []
    first = Spoor(server.url, server.key, spool=False)
    second = Spoor(server.url, server.key, spool=False, on_problem=problems.append)
    openai = OpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0)
    assert second.wrap_openai(first.wrap_openai(openai)) is openai
    openai.chat.completions.create(**CHAT)
    openai.with_options(timeout=9).chat.completions.create(**CHAT)
    assert (first.flush(20).sent, second.flush(20).sent) == (2, 0)
    assert problems == [
        "this object is already recorded by another spoor client, which keeps it: "
        "wrap a separate object for each project"
    ]


def test_events_that_cannot_be_read_are_reported(server: Server, wire: WireServer) -> None:
    problems: list[str] = []
    client = Spoor(server.url, server.key, spool=False, on_problem=problems.append)
    openai = client.wrap_openai(OpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0))
    wire.exchange = {"chunks": [STREAM["chunks"][0], {"choices": ["odd"]}, *STREAM["chunks"][1:]]}
    with client.trace("t") as trace:
        for _ in openai.chat.completions.create(**CHAT, stream=True):
            pass
    assert client.flush(20).is_complete is True
    span = the_span(client.traces.get(trace.id))
    assert (span["output"], span["status"], span["usage"]["totalTokens"]) == (HELLO, "ok", 18)
    assert (
        len(problems) == 1
        and "1 of 5 events" in problems[0]
        and problems[0].endswith(span["attributes"]["spoor.unread"])
    )


def test_inputs_and_outputs_can_be_omitted(server: Server, wire: WireServer) -> None:
    client = Spoor(server.url, server.key, spool=False, capture_input=False, capture_output=False)
    openai = client.wrap_openai(OpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0))

    @client.observe
    def ask(text: str) -> str:
        wire.exchange = STREAM
        for _ in openai.chat.completions.create(**CHAT, stream=True):
            pass
        return text

    with client.trace("t") as trace:
        ask("secret")
        trace.set_output("said")
    assert client.flush(20).is_complete
    detail = client.traces.get(trace.id)
    assert [(span["input"], span["output"]) for span in detail["spans"]] == [(None, None)] * 2
    assert detail["trace"]["output"] == "said"
