"""Records runs of LangChain itself, with the models that it has for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool

from spoor_client import Spoor
from spoor_client.langchain import SpoorHandler

Read = Callable[[Any], Any]


def model_of(*answers: Any) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter(answers))


def answer(text: str) -> AIMessage:
    details: Any = {"input_token_details": {"cache_read": 8}, "output_token_details": {"reasoning": 5}}
    usage: Any = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, **details}
    about = {"model_name": "m-real", "finish_reason": "stop"}
    return AIMessage(content=text, usage_metadata=usage, response_metadata=about)


@pytest.fixture
def handler(client: Spoor) -> SpoorHandler:
    return SpoorHandler(client)


@tool
def weather(city: str) -> str:
    """Returns the weather."""
    if city == "nowhere":
        raise ValueError("there is no such city")
    return f"sunny in {city}"


class Facts(BaseRetriever):
    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [Document("It is sunny.", metadata={"source": query})]


def only_trace(client: Spoor, tag: str) -> Any:
    assert client.flush(20).is_complete
    (trace,) = client.traces.list(tag=tag)["traces"]
    return client.traces.get(trace["id"])


def test_a_chain_is_a_trace(client: Spoor, handler: SpoorHandler, tag: str) -> None:
    prompt = ChatPromptTemplate([("system", "Be short."), ("human", "{question}")])
    chain = (
        prompt
        | model_of(answer("Sunny."))
        | RunnableLambda(lambda message: message.content).with_config(tags=["langsmith:hidden"])
    )
    config: Any = {
        "callbacks": [handler],
        "run_name": "ask",
        "tags": [tag],
        "metadata": {"thread_id": "s-1", "user_id": "u-1"},
    }
    assert chain.invoke({"question": "How is it?"}, config) == "Sunny."
    detail = only_trace(client, tag)
    stored = detail["trace"]
    assert (stored["name"], stored["status"], stored["sessionId"], stored["userId"]) == ("ask", "ok", "s-1", "u-1")
    assert (stored["input"], stored["output"]) == ({"question": "How is it?"}, "Sunny.")
    model = next(span for span in detail["spans"] if span["kind"] == "llm")
    assert model["input"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "How is it?"},
    ]
    assert model["output"] == {"role": "assistant", "content": "Sunny."}
    assert (model["model"], model["usage"]["totalTokens"]) == ("m-real", 18)
    assert (model["attributes"]["cache_read_input_tokens"], model["attributes"]["reasoning_tokens"]) == (8, 5)
    assert len(detail["spans"]) == 2
    assert not handler._steps and not handler._hidden and not handler._streaming


def test_parallel_tools_retrievers_and_failures_join_the_current_trace(
    client: Spoor, handler: SpoorHandler, read: Read
) -> None:
    config: Any = {"callbacks": [handler]}
    both = RunnableParallel(here=weather, there=weather)
    with client.trace("t") as trace:
        with pytest.raises(ValueError):
            both.invoke({"city": "nowhere"}, config)
        assert both.invoke({"city": "Graz"}, config)["there"] == "sunny in Graz"
        Facts().invoke("weather", config)
        assert model_of(answer("Hi.")).invoke([HumanMessage("Hello")], config).content == "Hi."
    spans = read(trace)["spans"]
    parallel = [span for span in spans if span["kind"] == "chain"]
    assert [span["status"] for span in parallel] == ["error", "ok"]
    tools = [span for span in spans if span["parentSpanId"] == parallel[1]["id"]]
    assert [(span["kind"], span["name"], span["output"]) for span in tools] == [
        ("tool", "weather", "sunny in Graz")
    ] * 2
    (retriever,) = [span for span in spans if span["kind"] == "retriever"]
    assert retriever["output"] == [{"content": "It is sunny.", "metadata": {"source": "weather"}}]
    assert [span["output"]["content"] for span in spans if span["kind"] == "llm"] == ["Hi."]


def test_asynchronous_runs_and_streams(client: Spoor, handler: SpoorHandler, read: Read) -> None:
    async def main() -> Any:
        config: Any = {"callbacks": [handler]}
        model = model_of(answer("one two"), answer("three four"))
        with client.trace("t") as trace:
            text = "".join([str(chunk.content) async for chunk in model.astream("Hi", config)])
            async for _ in model.astream("Hi", config):
                break
        assert text == "one two"
        return trace

    trace = asyncio.run(main())
    first, left = read(trace)["spans"]
    assert (first["output"]["content"], first["status"]) == ("one two", "ok")
    assert [event["name"] for event in first["events"]] == ["first token"]
    assert left["status"] != "ok"


def test_a_model_call_alone_has_a_trace(client: Spoor, handler: SpoorHandler, tag: str) -> None:
    config: Any = {"callbacks": [handler], "tags": [tag]}
    model_of(answer("Hi.")).invoke("Hello", config)
    detail = only_trace(client, tag)
    assert detail["trace"]["output"] == {"role": "assistant", "content": "Hi."}
    assert [span["kind"] for span in detail["spans"]] == ["llm"]


def test_a_paused_graph_is_not_a_failure(client: Spoor, handler: SpoorHandler, read: Read) -> None:
    class GraphBubbleUp(Exception):
        """As in LangGraph."""

    def pause(_: Any) -> None:
        raise GraphBubbleUp

    with client.trace("t") as trace, pytest.raises(GraphBubbleUp):
        RunnableLambda(pause).invoke(1, {"callbacks": [handler]})
    (span,) = read(trace)["spans"]
    assert span["status"] == "unset"
