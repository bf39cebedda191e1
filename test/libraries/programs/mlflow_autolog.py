"""MLflow's tracing: its decorator, and its instrumentation of OpenAI's client."""

import json

import mlflow
from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TAGS, TOOLS, USER, failing
from application import get_weather as weather_of
from openai import OpenAI

mlflow.openai.autolog()
client = OpenAI(max_retries=0)


@mlflow.trace(span_type='TOOL')
def get_weather(city):
    return weather_of(city)


@mlflow.trace(span_type='AGENT')
def answer(question):
    about()
    messages = [{'role': 'system', 'content': ROLE}, {'role': 'user', 'content': question}]
    asked = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    [call] = asked.tool_calls
    result = get_weather(**json.loads(call.function.arguments))
    messages += [asked.model_dump(exclude_none=True), {'role': 'tool', 'tool_call_id': call.id, 'content': result}]
    return client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message.content


@mlflow.trace
def refused(question):
    about()
    with failing():
        client.chat.completions.create(model=FAILING, messages=[{'role': 'user', 'content': question}])


def about():
    """What `mlflow.update_current_trace` says is not exported, and tags that it is given keep MLflow from sending the root."""
    mlflow.get_current_active_span().set_attributes({'session.id': SESSION, 'user.id': USER, 'tag.tags': TAGS})


answer(QUESTION)
refused(QUESTION)
mlflow.flush_trace_async_logging()
