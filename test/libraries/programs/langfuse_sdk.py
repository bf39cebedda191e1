"""Langfuse's SDK: its decorator, and its wrapper of OpenAI's client."""

import json

from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TAGS, TOOLS, USER, failing
from application import get_weather as weather_of
from langfuse import get_client, observe, propagate_attributes
from langfuse.openai import OpenAI

client = OpenAI(max_retries=0)


@observe(as_type='tool')
def get_weather(city):
    return weather_of(city)


@observe(as_type='agent')
def answer(question):
    messages = [{'role': 'system', 'content': ROLE}, {'role': 'user', 'content': question}]
    asked = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    [call] = asked.tool_calls
    result = get_weather(**json.loads(call.function.arguments))
    messages += [asked.model_dump(exclude_none=True), {'role': 'tool', 'tool_call_id': call.id, 'content': result}]
    return client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message.content


@observe()
def refused(question):
    with failing():
        client.chat.completions.create(model=FAILING, messages=[{'role': 'user', 'content': question}])


with propagate_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    answer(QUESTION)
    refused(QUESTION)
get_client().flush()
