"""
A processor that records runs of the OpenAI Agents SDK: `agents.add_trace_processor(SpoorProcessor())`, or
`agents.set_trace_processors([SpoorProcessor()])` to send them nowhere else. This module needs openai-agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.tracing import Span as AgentsSpan
from agents.tracing import Trace as AgentsTrace
from agents.tracing import TracingProcessor

from .client import Spoor
from .default import client as default_client
from .document import Kind
from .recording.step import Span, Step
from .recording.trace import Trace
from .wrapping.results import content_of
from .wrapping.wires.answer import count_of, mapping_of, without_nulls
from .wrapping.wires.responses import read_response

_KINDS: dict[str, Kind] = {
    "agent": "agent",
    "function": "tool",
    "generation": "llm",
    "response": "llm",
    "transcription": "llm",
    "speech": "llm",
    "task": "chain",
    "turn": "chain",
}
#: Fields of a span's data that are recorded as input, output, name or model, or are bodies of audio.
_OWN = frozenset(("type", "name", "input", "output", "model", "model_config", "usage", "data", "response_id", "result"))


class SpoorProcessor(TracingProcessor):
    """
    Records each trace of the SDK as a trace or, within a trace of this client, as steps of that trace. The session is
    the SDK's `group_id`.
    """

    def __init__(self, client: Spoor | None = None) -> None:
        self._client = client
        self._steps: dict[str, Step] = {}
        #: The traces that this processor has started, by the SDK's id.
        self._traces: dict[str, Trace] = {}

    @property
    def client(self) -> Spoor:
        return self._client or default_client()

    def on_trace_start(self, trace: AgentsTrace) -> None:
        current = self.client.current()
        if current is not None:
            self._steps[trace.trace_id] = current.start_span(trace.name, kind="chain")
            return
        said = mapping_of(trace.export())
        self._steps[trace.trace_id] = self._traces[trace.trace_id] = self.client.start(
            trace.name, session_id=said.get("group_id"), metadata=said.get("metadata") or None
        )

    def on_trace_end(self, trace: AgentsTrace) -> None:
        self._traces.pop(trace.trace_id, None)
        step = self._steps.pop(trace.trace_id, None)
        if step is not None:
            step.end(status=step.status_or("ok"))

    def on_span_start(self, span: AgentsSpan[Any]) -> None:
        parent = self._steps.get(span.parent_id or "") or self._steps.get(span.trace_id)
        if parent is None:
            return
        kind = span.span_data.type
        name = getattr(span.span_data, "name", None) or kind
        self._steps[span.span_id] = parent.start_span(str(name), kind=_KINDS.get(kind, "custom"))

    def on_span_end(self, span: AgentsSpan[Any]) -> None:
        step = self._steps.pop(span.span_id, None)
        if not isinstance(step, Span):
            return
        try:
            self._describe(step, span)
        except Exception as error:  # The SDK has an unknown version.
            self.client.problem(f"{step.name}: the span could not be read: {error!r}")
        if span.error is not None:
            self._fail(step, span)
        step.end(status=step.status_or("ok"))

    def _describe(self, step: Span, span: AgentsSpan[Any]) -> None:
        data = span.span_data
        given, output = getattr(data, "input", None), getattr(data, "output", getattr(data, "result", None))
        usage: Any = getattr(data, "usage", None)
        response = getattr(data, "response", None)
        if response is not None:
            answer = read_response(content_of(response))
            output = answer.output
            step.set_model(answer.model, "openai")
            step.set_usage(answer.input_tokens, answer.output_tokens, answer.total_tokens)
            step.set_attributes(without_nulls(answer.attributes))
        elif step.kind == "llm":
            step.set_model(getattr(data, "model", None))
            usage = mapping_of(usage)
            step.set_usage(count_of(usage.get("input_tokens")), count_of(usage.get("output_tokens")))
        step.set_attributes(self._attributes(data))
        if given is not None and self.client.captures_input:
            step.set_input(given)
        if output is not None and self.client.captures_output:
            step.set_output(output)
        trace = self._traces.get(span.trace_id)
        if trace is not None and step.kind == "llm":
            # The first question and the last answer are those of the run.
            if given is not None and self.client.captures_input and not trace.has_input:
                trace.set_input(given)
            if output is not None and self.client.captures_output:
                trace.set_output(output)

    def _attributes(self, data: Any) -> dict[str, Any]:
        said = {name: value for name, value in mapping_of(data.export()).items() if name not in _OWN}
        more = mapping_of(getattr(data, "model_config", None))
        custom = getattr(data, "data", None)
        found: dict[str, Any] = without_nulls(
            {**said, **more, **(custom if data.type == "custom" and isinstance(custom, Mapping) else {})}
        )
        return found

    def _fail(self, step: Span, span: AgentsSpan[Any]) -> None:
        error = mapping_of(span.error)
        step.add_event("exception", {"exception.type": "Error", "exception.message": str(error.get("message"))})
        if error.get("data"):
            step.set_attributes({"error": error["data"]})
        step.set_status("error")
        trace = self._traces.get(span.trace_id)
        if trace is not None and span.parent_id is None:
            trace.set_status("error")

    def force_flush(self) -> None:
        self.client.flush()

    def shutdown(self) -> None:
        self.client.flush(5)
