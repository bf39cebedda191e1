"""Which step is current: across clients, generators that are read later, and responses that are sent later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.responses import StreamingResponse

from spoor_client import Spoor
from tests.conftest import Server

Read = Callable[[Any], Any]


def test_two_clients_do_not_see_each_others_steps(server: Server) -> None:
    first = Spoor(server.url, server.key, spool=False)
    second = Spoor(server.url, server.key, spool=False)

    @second.observe
    def work() -> None:
        with second.span("of the second"), first.span("of the first"):
            assert (first.current(), second.current()) != (None, None)

    with first.trace("outer") as outer:
        assert (first.current(), second.current()) == (outer, None)
        assert second.headers() == {}
        work()
    assert (first.current(), second.current()) == (None, None)
    assert (first.flush(20).sent, second.flush(20).sent) == (1, 1)
    assert [span["name"] for span in first.traces.get(outer.id)["spans"]] == ["of the first"]


def test_a_generator_belongs_to_the_trace_of_its_call(client: Spoor, read: Read) -> None:
    @client.observe
    def parts() -> Iterator[str]:
        yield "a"
        with client.span("within"):
            yield "b"

    @client.observe
    async def parts_async() -> AsyncIterator[str]:
        yield "c"

    async def collect(items: AsyncIterator[str]) -> str:
        return "".join([item async for item in items])

    with client.trace("handler") as trace:
        body, body_async = parts(), parts_async()
    with client.trace("elsewhere"):
        assert "".join(body) == "ab"
        assert asyncio.run(collect(body_async)) == "c"
    spans = {span["name"].rpartition(".")[2]: span for span in read(trace)["spans"]}
    assert sorted(spans) == ["parts", "parts_async", "within"]
    assert spans["within"]["parentSpanId"] == spans["parts"]["id"]
    assert (spans["parts"]["output"], spans["parts_async"]["output"]) == ("ab", "c")


def test_a_generator_that_is_never_read_blocks_nothing(client: Spoor, read: Read) -> None:
    @client.observe
    def parts() -> Iterator[int]:
        yield 1

    with client.trace("handler") as trace:
        parts()
    (span,) = read(trace)["spans"]
    assert (span["status"], [event["name"] for event in span["events"]]) == ("unset", ["not ended"])


@pytest.mark.parametrize("how", ["asynchronous", "synchronous", "observed"])
def test_a_streaming_response_is_part_of_its_handlers_trace(client: Spoor, tag: str, how: str) -> None:
    app = FastAPI()

    async def body_async() -> AsyncIterator[str]:
        for part in ("one ", "two"):
            with client.span("token"):
                await asyncio.sleep(0)
            yield part

    def body() -> Iterator[bytes]:
        for part in (b"one ", b"two"):
            with client.span("token"):
                pass
            yield part

    bodies: dict[str, Callable[[], Any]] = {
        "asynchronous": body_async,
        "synchronous": body,
        "observed": client.observe(name="body")(body_async),
    }

    @app.get("/chat")
    @client.observe(name=f"chat {tag}")
    async def chat() -> StreamingResponse:
        return StreamingResponse(bodies[how]())

    assert TestClient(app).get("/chat").text == "one two"
    assert client.flush(20).is_complete
    (trace,) = client.traces.list(name=f"chat {tag}")["traces"]
    detail = client.traces.get(trace["id"])
    assert [span["name"] for span in detail["spans"]] == ["body"] * (how == "observed") + ["token"] * 2
    assert (detail["trace"]["output"], detail["trace"]["status"]) == ("one two", "ok")


def test_a_client_that_disconnects_is_not_a_failure(client: Spoor, tag: str) -> None:
    async def body() -> AsyncIterator[str]:
        yield "one"
        await asyncio.sleep(60)

    @client.observe(name=f"chat {tag}")
    async def chat() -> StreamingResponse:
        return StreamingResponse(body())

    async def main() -> None:
        sent = asyncio.Event()

        async def receive() -> Any:
            await sent.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message.get("body"):
                sent.set()

        response = await chat()
        scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
        await asyncio.wait_for(response(scope, receive, send), 10)

    asyncio.run(main())
    assert client.flush(20).is_complete
    (trace,) = client.traces.list(name=f"chat {tag}")["traces"]
    detail = client.traces.get(trace["id"])
    assert (detail["trace"]["status"], detail["trace"]["output"]) == ("unset", "one")


def test_generators_can_be_fastapi_dependencies(client: Spoor) -> None:
    from fastapi import Depends

    app = FastAPI()

    @client.observe
    def dependency() -> Iterator[str]:
        yield "connection"

    @app.get("/")
    def read_root(found: str = Depends(dependency)) -> str:
        return found

    assert TestClient(app).get("/").json() == "connection"
