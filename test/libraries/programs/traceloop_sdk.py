"""OpenLLMetry's SDK: its decorators, and its instrumentation of OpenAI's client."""

import json

from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TOOLS, USER, failing
from application import get_weather as weather_of
from openai import OpenAI
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool, workflow

Traceloop.init(app_name='shop', telemetry_enabled=False)
client = OpenAI(max_retries=0)


@tool(name='get_weather')
def get_weather(city):
    return weather_of(city)


@agent(name='forecaster')
def ask(question):
    messages = [{'role': 'system', 'content': ROLE}, {'role': 'user', 'content': question}]
    asked = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    [call] = asked.tool_calls
    result = get_weather(**json.loads(call.function.arguments))
    messages += [asked.model_dump(exclude_none=True), {'role': 'tool', 'tool_call_id': call.id, 'content': result}]
    return client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message.content


@workflow(name='answer')
def answer(question):
    Traceloop.set_association_properties({'session_id': SESSION, 'user_id': USER})
    return ask(question)


@workflow(name='failing')
def refused(question):
    Traceloop.set_association_properties({'session_id': SESSION, 'user_id': USER})
    with failing():
        client.chat.completions.create(model=FAILING, messages=[{'role': 'user', 'content': question}])


answer(QUESTION)
refused(QUESTION)
