"""Traces and spans during their recording."""

from .step import Span, Step
from .trace import Trace

__all__ = ["Span", "Step", "Trace"]
