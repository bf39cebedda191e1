"""Threads in which the span or trace is current that was so where their work was handed in."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class ContextExecutor(ThreadPoolExecutor):
    """A pool of threads in which the trace or span is current that was so where the work was handed in."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        context = contextvars.copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


def context_executor(max_workers: int | None = None, **options: Any) -> ContextExecutor:
    return ContextExecutor(max_workers, **options)
