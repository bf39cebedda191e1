"""Threads in which the step that was current when their work was submitted is current."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class ContextExecutor(ThreadPoolExecutor):
    """A thread pool in which the step that was current when the work was submitted is current."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        context = contextvars.copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


def context_executor(max_workers: int | None = None, **options: Any) -> ContextExecutor:
    return ContextExecutor(max_workers, **options)
