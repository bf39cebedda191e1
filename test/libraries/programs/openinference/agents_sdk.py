"""OpenInference of OpenAI's Agents SDK."""

from agents import Agent, Runner, function_tool
from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TAGS, USER, failing, get_weather, tracing
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

tracing()
OpenAIAgentsInstrumentor().instrument()


def agent(model):
    return Agent(name='answer', instructions=ROLE, model=model, tools=[function_tool(get_weather)])


with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    Runner.run_sync(agent(MODEL), QUESTION)
    with failing():
        Runner.run_sync(agent(FAILING), QUESTION)
