"""LiteLLM's own callback for OpenTelemetry."""

import json
import time

import litellm
from application import FAILING, MODEL, QUESTION, ROLE, SESSION, TAGS, TOOLS, USER, failing, get_weather, tracing

tracer = tracing()
litellm.callbacks = ['otel']


def about():
    # LiteLLM writes into the metadata that it is given, so each call has its own.
    return {'metadata': {'session_id': SESSION, 'tags': TAGS}, 'user': USER}


def chat():
    messages = [{'role': 'system', 'content': ROLE}, {'role': 'user', 'content': QUESTION}]
    asked = litellm.completion(model=f'openai/{MODEL}', messages=messages, tools=TOOLS, **about()).choices[0].message
    [call] = asked.tool_calls
    result = get_weather(**json.loads(call.function.arguments))
    messages += [asked.model_dump(), {'role': 'tool', 'tool_call_id': call.id, 'content': result}]
    litellm.completion(model=f'openai/{MODEL}', messages=messages, tools=TOOLS, **about())
    # The callbacks are called on another thread.
    time.sleep(2)


with tracer.start_as_current_span('answer'):
    chat()
with tracer.start_as_current_span('failing'), failing():
    litellm.completion(model=f'openai/{FAILING}', messages=[{'role': 'user', 'content': QUESTION}], num_retries=0, **about())
time.sleep(2)
