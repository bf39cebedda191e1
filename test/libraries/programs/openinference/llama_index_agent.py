"""OpenInference of LlamaIndex: an agent that calls functions."""

import asyncio

from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TAGS, USER, failing, get_weather, tracing
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

tracer = tracing()
LlamaIndexInstrumentor().instrument()


async def ask(model):
    # Without this, OpenAI sends no tokens with a stream.
    usage = {'stream_options': {'include_usage': True}}
    llm = OpenAI(model=model, max_retries=0, additional_kwargs=usage)
    # LlamaIndex looks into a list of its own whether a model calls functions.
    llm.__class__.metadata = property(lambda self: METADATA)
    await FunctionAgent(name='answer', system_prompt=ROLE, tools=[get_weather], llm=llm).run(QUESTION)


METADATA = OpenAI(model=MODEL).metadata
with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    with tracer.start_as_current_span('answer'):
        asyncio.run(ask(MODEL))
    with tracer.start_as_current_span('failing'), failing():
        asyncio.run(ask(FAILING))
