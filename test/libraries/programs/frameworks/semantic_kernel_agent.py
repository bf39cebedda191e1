"""Semantic Kernel, which has OpenTelemetry in it and puts messages into log records."""

import asyncio
import logging

from application import FAILING, MODEL, QUESTION, ROLE, SESSION, USER, failing, tracing
from application import get_weather as weather_of
from openai import AsyncOpenAI
from opentelemetry.sdk._logs import LoggingHandler
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function

tracer = tracing(logs=True)
# Semantic Kernel writes messages to Python's log, from which this makes log records of OpenTelemetry.
logging.getLogger().addHandler(LoggingHandler())
logging.getLogger('semantic_kernel').setLevel(logging.INFO)


class Weather:
    @kernel_function(name='get_weather', description='Tells the weather of a city.')
    def get_weather(self, city: str) -> str:
        return weather_of(city)


async def ask(model):
    service = OpenAIChatCompletion(ai_model_id=model, async_client=AsyncOpenAI(max_retries=0))
    agent = ChatCompletionAgent(service=service, name='answer', instructions=ROLE, plugins=[Weather()])
    await agent.get_response(messages=QUESTION)


about = {'session.id': SESSION, 'user.id': USER}
with tracer.start_as_current_span('answer', attributes=about):
    asyncio.run(ask(MODEL))
with tracer.start_as_current_span('failing', attributes=about), failing():
    asyncio.run(ask(FAILING))
