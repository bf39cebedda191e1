"""Microsoft's Agent Framework, which has OpenTelemetry in it."""

import asyncio

from agent_framework import Agent
from agent_framework.observability import configure_otel_providers
from agent_framework.openai import OpenAIChatCompletionClient
from application import FAILING, MODEL, QUESTION, ROLE, failing, get_weather
from openai import AsyncOpenAI
from opentelemetry import trace

configure_otel_providers(enable_sensitive_data=True)


async def ask(model):
    client = OpenAIChatCompletionClient(model=model, async_client=AsyncOpenAI(max_retries=0))
    await Agent(client=client, name='answer', instructions=ROLE, tools=[get_weather]).run(QUESTION)


asyncio.run(ask(MODEL))
with failing():
    asyncio.run(ask(FAILING))
trace.get_tracer_provider().shutdown()
