"""OpenTelemetry's instrumentation of OpenAI's client."""

import os

from application import SESSION, USER, chat_with_tool, fail, tracing
from openai import OpenAI
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

tracer = tracing(logs=os.environ.get('OTEL_LOGS_EXPORTER') != 'none')
OpenAIInstrumentor().instrument()
client = OpenAI(max_retries=0)
with tracer.start_as_current_span('answer', attributes={'session.id': SESSION, 'user.id': USER}):
    chat_with_tool(client)
with tracer.start_as_current_span('failing'):
    fail(client)
