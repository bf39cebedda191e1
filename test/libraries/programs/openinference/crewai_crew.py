"""OpenInference of CrewAI, beside that of OpenAI's client, as its documentation has it."""

from application import FAILING, MODEL, QUESTION, SESSION, TAGS, USER, failing, tracing
from application import get_weather as weather_of
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation import using_attributes
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

tracer = tracing()
CrewAIInstrumentor().instrument(skip_dep_check=True)
OpenAIInstrumentor().instrument()


@tool
def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return weather_of(city)


def ask(model):
    llm = LLM(model=model, provider='openai', max_retries=0)
    agent = Agent(role='Forecaster', goal='Answer.', backstory='Short.', llm=llm, tools=[get_weather], max_retry_limit=0)
    task = Task(description='{question}', expected_output='A sentence.', agent=agent)
    Crew(name='answer', agents=[agent], tasks=[task]).kickoff(inputs={'question': QUESTION})


with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    ask(MODEL)
    with failing():
        ask(FAILING)
