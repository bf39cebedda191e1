"""Traces and spans while they are recorded."""

from .step import Span, Step
from .trace import Trace

__all__ = ["Span", "Step", "Trace"]
