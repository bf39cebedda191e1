"""A LangGraph agent. OpenInference records the agent's nodes and models and sends them
through OpenTelemetry's exporter. The client's steps and scores join that trace. Both
must send to one project: OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS,
SPOOR_URL and SPOOR_API_KEY."""

from typing import TypedDict

import spoor_client as spoor
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
LangChainInstrumentor().instrument()
tracer = trace.get_tracer("assistant")
model = ChatOpenAI(model="gpt-4o-mini")


class State(TypedDict, total=False):
    question: str
    answer: str


def draft(state):
    return {"answer": model.invoke(state["question"]).content}


def review(state):
    length = len(state["answer"])
    with spoor.trace("review", input=state["answer"]) as step:
        step.score("short", length < 280, comment=f"{length} characters")


builder = StateGraph(State).add_node("draft", draft).add_node("review", review)
builder.add_edge(START, "draft").add_edge("draft", "review").add_edge("review", END)
graph = builder.compile(name="assistant")


def ask(question):
    # This span is current in the nodes, so the client's steps join its trace.
    with tracer.start_as_current_span("ask") as span:
        span.set_attributes({"session.id": "chat-1042", "input.value": question})
        answer = graph.invoke({"question": question})["answer"]
        span.set_attribute("output.value", answer)
        return answer, f"{span.get_span_context().trace_id:032x}"


answer, trace_id = ask("Is it sunny in Graz?")
print(answer)
# Later, when somebody has read the answer.
spoor.score(trace_id, "helpful", 0.9, comment="good to know")

provider.shutdown()
print(spoor.flush().lost)
