"""
A callback handler that records runs of LangChain and LangGraph: `chain.invoke(…, {"callbacks": [SpoorHandler()]})`.
This module needs langchain-core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, convert_to_openai_messages

from .client import Spoor
from .default import client as default_client
from .document import Kind
from .recording.step import Span, Step
from .recording.trace import Trace
from .wrapping.wires.answer import count_of, mapping_of, without_nulls

#: LangChain's tag for runs that are of no interest.
_HIDDEN = "langsmith:hidden"
#: The base class of exceptions by which LangGraph pauses, which are not failures.
_PAUSE = "GraphBubbleUp"
_PARAMETERS_LEFT_OUT = frozenset(("model", "model_name", "messages", "_type"))


class SpoorHandler(BaseCallbackHandler):
    """
    Records each run as a span. A run without a parent joins the current trace or, if there is none, starts a trace,
    whose session and user are the metadata's `session_id` (or `thread_id`) and `user_id`.
    """

    #: In this thread, so that a parent is known before its children.
    run_inline = True

    def __init__(self, client: Spoor | None = None) -> None:
        self._client = client
        self._steps: dict[UUID, Step] = {}
        #: Runs that are not recorded. Their children belong to the parent.
        self._hidden: dict[UUID, Step | None] = {}
        #: Runs of models that have sent their first token.
        self._streaming: set[UUID] = set()

    @property
    def client(self) -> Spoor:
        return self._client or default_client()

    # Starts.

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **about: Any) -> None:
        self._start(run_id, "chain", serialized, _shown(inputs), about)

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **about: Any) -> None:
        given = about.get("inputs")
        self._start(run_id, "tool", serialized, input_str if given is None else given, about)

    def on_retriever_start(self, serialized: Any, query: str, *, run_id: UUID, **about: Any) -> None:
        self._start(run_id, "retriever", serialized, query, about)

    def on_llm_start(self, serialized: Any, prompts: list[str], *, run_id: UUID, **about: Any) -> None:
        self._start(run_id, "llm", serialized, prompts[0] if len(prompts) == 1 else prompts, about)

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **about: Any
    ) -> None:
        shown = [_shown(each) for each in messages]
        self._start(run_id, "llm", serialized, shown[0] if len(shown) == 1 else shown, about)

    def _start(self, run_id: UUID, kind: Kind, serialized: Any, given: Any, about: dict[str, Any]) -> None:
        parent_id = about.get("parent_run_id")
        parent = self._hidden.get(parent_id) or self._steps.get(parent_id) if parent_id else None
        parent = parent or self.client.current()
        tags, metadata = about.get("tags") or [], mapping_of(about.get("metadata"))
        if _HIDDEN in tags:
            self._hidden[run_id] = parent
            return
        serialized = mapping_of(serialized)
        name = str(about.get("name") or serialized.get("name") or (serialized.get("id") or [kind])[-1])
        step: Step
        if parent is not None:
            step = parent.start_span(name, kind=kind)
        else:
            session = metadata.get("session_id") or metadata.get("thread_id")
            trace = self.client.start(name, session_id=session, user_id=metadata.get("user_id"), tags=tags)
            step = trace if kind == "chain" else trace.start_span(name, kind=kind)
            if isinstance(step, Span):
                step.has_own_trace = True
        if self.client.captures_input:
            step.set_input(given)
        self._describe(step, metadata, mapping_of(about.get("invocation_params")))
        self._steps[run_id] = step

    def _describe(self, step: Step, metadata: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
        attributes = {
            **{name: value for name, value in metadata.items() if not name.startswith(("ls_", "__"))},
            **{name: value for name, value in parameters.items() if name not in _PARAMETERS_LEFT_OUT},
        }
        attributes = without_nulls(attributes)
        if isinstance(step, Trace):
            if attributes:
                step.set_metadata(attributes)
            return
        if isinstance(step, Span):
            if attributes:
                step.set_attributes(attributes)
            if step.kind == "llm":
                model = metadata.get("ls_model_name") or parameters.get("model") or parameters.get("model_name")
                step.set_model(None if model is None else str(model), metadata.get("ls_provider"))

    # Ends.

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id, _shown(outputs))

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id, _shown(output))

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        shown = [
            {"content": getattr(document, "page_content", document), "metadata": getattr(document, "metadata", {})}
            for document in documents
        ]
        self._end(run_id, shown)

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        step = self._steps.get(run_id)
        generations = [each for group in response.generations for each in group]
        messages = [getattr(generation, "message", None) for generation in generations]
        if isinstance(step, Span):
            _read_usage(step, messages, mapping_of(getattr(response, "llm_output", None)))
        outputs = [
            _shown(generation.text if message is None else message)
            for generation, message in zip(generations, messages, strict=True)
        ]
        self._end(run_id, outputs[0] if len(outputs) == 1 else outputs)

    def on_llm_new_token(self, token: Any, *, run_id: UUID, **_: Any) -> None:
        step = self._steps.get(run_id)
        if isinstance(step, Span) and run_id not in self._streaming:
            self._streaming.add(run_id)
            step.add_event("first token")

    def on_retry(self, retry_state: Any, *, run_id: UUID, **_: Any) -> None:
        step = self._steps.get(run_id)
        if isinstance(step, Span):
            step.add_event("retry", {"attempt": getattr(retry_state, "attempt_number", None)})

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._fail(run_id, error)

    on_tool_error = on_retriever_error = on_llm_error = on_chain_error

    def _end(self, run_id: UUID, output: Any) -> None:
        step = self._forget(run_id)
        if step is not None:
            step.end(output=output if self.client.captures_output else None, status=step.status_or("ok"))

    def _forget(self, run_id: UUID) -> Step | None:
        self._hidden.pop(run_id, None)
        self._streaming.discard(run_id)
        return self._steps.pop(run_id, None)

    def _fail(self, run_id: UUID, error: BaseException) -> None:
        step = self._forget(run_id)
        if step is None:
            return
        if any(base.__name__ == _PAUSE for base in type(error).__mro__):
            step.end(status=step.status_or("unset"))
        else:
            step.end(error=error)


def _shown(value: Any) -> Any:
    """Messages are recorded in the form that most models use; everything else is recorded as it is."""
    try:
        if isinstance(value, BaseMessage):
            return convert_to_openai_messages(value)
        if isinstance(value, (list, tuple)):
            return [_shown(each) for each in value]
        if isinstance(value, dict):
            return {name: _shown(each) for name, each in value.items()}
    except Exception:  # A message has content of an unknown kind.
        return value
    return value


def _read_usage(span: Span, messages: Sequence[Any], output: Mapping[str, Any]) -> None:
    usages = [usage for usage in (getattr(message, "usage_metadata", None) for message in messages) if usage]
    usage = mapping_of(usages[0] if usages else output.get("token_usage") or output.get("usage"))
    span.set_usage(
        count_of(usage.get("input_tokens"), usage.get("prompt_tokens")),
        count_of(usage.get("output_tokens"), usage.get("completion_tokens")),
        count_of(usage.get("total_tokens")),
    )
    about = mapping_of(getattr(messages[0], "response_metadata", None)) if messages else {}
    model = about.get("model_name") or about.get("model") or output.get("model_name")
    if model:
        span.set_model(str(model))
    inputs, outputs = mapping_of(usage.get("input_token_details")), mapping_of(usage.get("output_token_details"))
    attributes = {
        "finish_reason": about.get("finish_reason") or about.get("stop_reason"),
        "cache_read_input_tokens": count_of(inputs.get("cache_read")),
        "cache_creation_input_tokens": count_of(inputs.get("cache_creation")),
        "reasoning_tokens": count_of(outputs.get("reasoning")),
    }
    span.set_attributes(without_nulls(attributes))
