"""What each program does: asks a model that calls a tool, and makes a call that fails. The model provider and spoor are
named by the environment, as an application's would be."""

import json
import os
from contextlib import contextmanager

QUESTION = 'Is it sunny in Graz?'
ROLE = 'Be short.'
MODEL = 'gpt-4o-mini'
FAILING = 'fail-429'
SESSION = 's-1'
USER = 'u-1'
TAGS = ['one', 'two']

TOOLS = [
    {
        'type': 'function',
        'function': {
            'name': 'get_weather',
            'description': 'Tells the weather of a city.',
            'parameters': {'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city']},
        },
    }
]


def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return f'sunny in {city}'


def tracing(logs=False):
    """OpenTelemetry's SDK, whose exporters read their variables. Returns a tracer and what sends the rest at the end."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if os.environ.get('OTEL_EXPORTER_OTLP_PROTOCOL') == 'grpc':
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    if logs:
        logging()
    return provider.get_tracer('shop')


def logging():
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    provider = LoggerProvider()
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    set_logger_provider(provider)


def chat_with_tool(client):
    """Two calls: the model asks for a tool, and answers with what the tool gave."""
    messages = [{'role': 'system', 'content': ROLE}, {'role': 'user', 'content': QUESTION}]
    asked = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    [call] = asked.tool_calls
    result = get_weather(**json.loads(call.function.arguments))
    messages += [
        {'role': 'assistant', 'content': None, 'tool_calls': [call.model_dump()]},
        {'role': 'tool', 'tool_call_id': call.id, 'content': result},
    ]
    return client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message.content


def fail(client):
    with failing():
        client.chat.completions.create(model=FAILING, messages=[{'role': 'user', 'content': QUESTION}])


@contextmanager
def failing():
    """What is done here must raise an error, which goes no further."""
    try:
        yield
    except Exception as error:
        print('failed as it should:', type(error).__name__)
        return
    raise AssertionError('the call has not failed')
