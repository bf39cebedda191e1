"""OpenInference of LiteLLM."""

import json

import litellm
from application import (
    FAILING,
    MODEL,
    QUESTION,
    ROLE,
    SESSION,
    TAGS,
    TOOLS,
    USER,
    failing,
    get_weather,
    tracing,
)
from openinference.instrumentation import using_attributes
from openinference.instrumentation.litellm import LiteLLMInstrumentor

tracer = tracing()
LiteLLMInstrumentor().instrument()


def chat():
    messages = [{'role': 'system', 'content': ROLE}, {'role': 'user', 'content': QUESTION}]
    asked = litellm.completion(model=f'openai/{MODEL}', messages=messages, tools=TOOLS).choices[0].message
    [call] = asked.tool_calls
    result = get_weather(**json.loads(call.function.arguments))
    messages += [asked.model_dump(), {'role': 'tool', 'tool_call_id': call.id, 'content': result}]
    litellm.completion(model=f'openai/{MODEL}', messages=messages, tools=TOOLS)


with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    with tracer.start_as_current_span('answer'):
        chat()
    with tracer.start_as_current_span('failing'), failing():
        litellm.completion(model=f'openai/{FAILING}', messages=[{'role': 'user', 'content': QUESTION}], num_retries=0)
