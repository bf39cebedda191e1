"""
Records traces of AI applications in spoor. The client keeps traces on disk while they cannot be sent.

The functions of this module share one client. It is created on first use from SPOOR_URL and SPOOR_API_KEY, or by
`configure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .client import Spoor
from .context import ContextExecutor, context_executor
from .default import (
    configure,
    current,
    evaluate,
    flush,
    from_headers,
    headers,
    observe,
    score,
    span,
    start,
    trace,
    wrap_anthropic,
    wrap_bedrock,
    wrap_google_genai,
    wrap_mistral,
    wrap_ollama,
    wrap_openai,
)
from .evaluating import Evaluation, Verdict
from .parents import Parent
from .reads import SpoorError
from .recording.step import Span, Step
from .recording.trace import Trace
from .sending.result import Loss, Result

if TYPE_CHECKING:
    from .reads import Scores, Traces

    traces: Traces
    scores: Scores

__version__ = "1.0.0"

__all__ = [
    "ContextExecutor",
    "Evaluation",
    "Loss",
    "Parent",
    "Result",
    "Span",
    "Spoor",
    "SpoorError",
    "Step",
    "Trace",
    "Verdict",
    "configure",
    "context_executor",
    "current",
    "evaluate",
    "flush",
    "from_headers",
    "headers",
    "observe",
    "score",
    "scores",
    "span",
    "start",
    "trace",
    "traces",
    "wrap_anthropic",
    "wrap_bedrock",
    "wrap_google_genai",
    "wrap_mistral",
    "wrap_ollama",
    "wrap_openai",
]


def __getattr__(name: str) -> object:
    if name in ("traces", "scores"):
        from .default import client

        return getattr(client(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
