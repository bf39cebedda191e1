"""pydantic-ai's own instrumentation, with OpenTelemetry's SDK or with Logfire's."""

import os

from application import FAILING, MODEL, QUESTION, ROLE, SESSION, USER, failing, get_weather, tracing
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

if os.environ.get('WITH_LOGFIRE'):
    import logfire

    logfire.configure(send_to_logfire=False, console=False, service_name='shop')
    logfire.instrument_pydantic_ai()
else:
    tracing()
    Agent.instrument_all()


def agent(model):
    provider = OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0))
    chat = OpenAIChatModel(model, provider=provider)
    return Agent(chat, name='answer', instructions=ROLE, tools=[get_weather], metadata={'user.id': USER})


agent(MODEL).run_sync(QUESTION, conversation_id=SESSION)
with failing():
    agent(FAILING).run_sync(QUESTION, conversation_id=SESSION)
