"""OpenInference of Anthropic's client."""

from anthropic import Anthropic
from application import FAILING, QUESTION, ROLE, SESSION, TAGS, TOOLS, USER, failing, get_weather, tracing
from openinference.instrumentation import using_attributes
from openinference.instrumentation.anthropic import AnthropicInstrumentor

MODEL = 'claude-sonnet-4-5'
function = TOOLS[0]['function']
tools = [{'name': function['name'], 'description': function['description'], 'input_schema': function['parameters']}]

tracer = tracing()
AnthropicInstrumentor().instrument()
client = Anthropic(max_retries=0)


def ask(messages, model=MODEL):
    return client.messages.create(model=model, max_tokens=100, system=ROLE, messages=messages, tools=tools)


def chat():
    messages = [{'role': 'user', 'content': QUESTION}]
    answer = ask(messages)
    [call] = answer.content
    result = {'type': 'tool_result', 'tool_use_id': call.id, 'content': get_weather(**call.input)}
    ask([*messages, {'role': 'assistant', 'content': answer.content}, {'role': 'user', 'content': [result]}])


with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    with tracer.start_as_current_span('answer'):
        chat()
    with tracer.start_as_current_span('failing'), failing():
        ask([{'role': 'user', 'content': QUESTION}], FAILING)
