"""Strands Agents, which have OpenTelemetry in them."""

from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TAGS, USER, failing
from application import get_weather as weather_of
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.telemetry import StrandsTelemetry

telemetry = StrandsTelemetry().setup_otlp_exporter()


@tool
def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return weather_of(city)


def ask(model):
    about = {'session.id': SESSION, 'user.id': USER, 'tag.tags': TAGS}
    chat = OpenAIModel(client_args={'max_retries': 0}, model_id=model)
    agent = Agent(
        name='answer',
        model=chat,
        system_prompt=ROLE,
        tools=[get_weather],
        trace_attributes=about,
        retry_strategy=None,
    )
    agent(QUESTION)


ask(MODEL)
with failing():
    ask(FAILING)
telemetry.tracer_provider.force_flush()
