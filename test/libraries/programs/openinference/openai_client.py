"""OpenInference of OpenAI's client."""

from application import SESSION, TAGS, USER, chat_with_tool, fail, tracing
from openai import OpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai import OpenAIInstrumentor

tracer = tracing()
OpenAIInstrumentor().instrument()
client = OpenAI(max_retries=0)
with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    with tracer.start_as_current_span('answer'):
        chat_with_tool(client)
    with tracer.start_as_current_span('failing'):
        fail(client)
