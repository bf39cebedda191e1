"""OpenInference of Haystack: an agent."""

from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TAGS, USER, failing, get_weather, tracing
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from openinference.instrumentation import using_attributes
from openinference.instrumentation.haystack import HaystackInstrumentor

tracer = tracing()
HaystackInstrumentor().instrument()


def ask(model):
    generator = OpenAIChatGenerator(model=model, max_retries=0)
    agent = Agent(chat_generator=generator, system_prompt=ROLE, tools=[create_tool_from_function(get_weather)])
    agent.run(messages=[ChatMessage.from_user(QUESTION)])


with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    with tracer.start_as_current_span('answer'):
        ask(MODEL)
    with tracer.start_as_current_span('failing'), failing():
        ask(FAILING)
