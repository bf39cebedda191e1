"""Records runs of the OpenAI Agents SDK itself, with a server that speaks OpenAI's wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import agents
import pytest
from agents import Agent, Runner, function_tool
from agents.models.openai_responses import OpenAIResponsesModel
from openai import AsyncOpenAI

from spoor_client import Spoor
from spoor_client.openai_agents import SpoorProcessor
from tests.wrapping.wires import EVENTS, WireServer

Read = Callable[[Any], Any]
USAGE = {
    "input_tokens": 11,
    "output_tokens": 7,
    "total_tokens": 18,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens_details": {"reasoning_tokens": 5},
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m-real",
    "tools": [],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "usage": USAGE,
}
TEXT = {"type": "output_text", "text": "Sunny.", "annotations": []}
MESSAGE = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [TEXT]}


def call(city: str) -> Any:
    arguments = json.dumps({"city": city})
    return {"id": city, "type": "function_call", "call_id": city, "name": "weather", "arguments": arguments}


class Conversation(WireServer):
    """Answers with one output after another."""

    outputs: list[Any]

    def answer(self, handler: Any) -> None:
        self.exchange = {"body": {**RESPONSE, "output": self.outputs.pop(0)}}
        super().answer(handler)


@pytest.fixture
def wire() -> Iterator[Conversation]:
    server = Conversation(EVENTS)
    yield server
    server.close()


@function_tool(failure_error_function=None)
def weather(city: str) -> str:
    if city == "nowhere":
        raise ValueError("there is no such city")
    return f"sunny in {city}"


@pytest.fixture
def agent(client: Spoor, wire: Conversation) -> Iterator[Agent[Any]]:
    agents.set_trace_processors([SpoorProcessor(client)])
    openai = AsyncOpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0)
    yield Agent(name="helper", model=OpenAIResponsesModel("m", openai), tools=[weather])
    agents.set_trace_processors([])


def test_a_run_is_a_trace(client: Spoor, agent: Agent[Any], wire: Conversation, tag: str) -> None:
    wire.outputs = [[call("Graz"), call("Linz")], [MESSAGE]]
    with agents.trace(f"run {tag}", group_id="s-1", metadata={"release": "1"}):
        assert Runner.run_sync(agent, "How is it?").final_output == "Sunny."
    assert client.flush(20).is_complete
    (found,) = client.traces.list(name=f"run {tag}")["traces"]
    detail = client.traces.get(found["id"])
    stored = detail["trace"]
    assert (stored["status"], stored["sessionId"], stored["metadata"]) == ("ok", "s-1", {"release": "1"})
    assert stored["output"][0]["content"][0]["text"] == "Sunny."
    assert stored["usage"]["totalTokens"] == 36
    spans = detail["spans"]
    (helper,) = [span for span in spans if span["kind"] == "agent"]
    assert helper["name"] == "helper"
    tools = [span for span in spans if span["kind"] == "tool"]
    assert sorted(span["output"] for span in tools) == ["sunny in Graz", "sunny in Linz"]
    models = [span for span in spans if span["kind"] == "llm"]
    assert [span["model"] for span in models] == ["m-real"] * 2
    assert models[0]["attributes"]["cache_read_input_tokens"] == 8


def test_a_run_within_a_trace_joins_it_and_fails_with_its_tool(
    client: Spoor, agent: Agent[Any], wire: Conversation, read: Read
) -> None:
    wire.outputs = [[call("nowhere")]]
    with client.trace("outer") as trace, pytest.raises(agents.UserError):
        Runner.run_sync(agent, "How is it?")
    spans = read(trace)["spans"]
    (tool,) = [span for span in spans if span["kind"] == "tool"]
    assert (tool["name"], tool["status"]) == ("weather", "error")
    assert tool["events"][0]["name"] == "exception"
