"""OpenInference of LangChain: an agent, which is a graph of LangGraph. It may stand beside that of OpenAI's client."""

import os
from contextlib import nullcontext

from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TAGS, USER, failing, get_weather, tracing
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

tracer = tracing()
LangChainInstrumentor().instrument()
with_openai = os.environ.get('WITH_OPENAI')
if with_openai:
    OpenAIInstrumentor().instrument()
question = {'messages': [{'role': 'user', 'content': QUESTION}]}


def ask(model):
    # LangChain's spans are never the current one, so without one around them the client's would be traces of their own.
    with tracer.start_as_current_span('run') if with_openai else nullcontext():
        chat = ChatOpenAI(model=model, max_retries=0)
        create_agent(chat, tools=[get_weather], system_prompt=ROLE, name='answer').invoke(question)


with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    ask(MODEL)
    with failing():
        ask(FAILING)
