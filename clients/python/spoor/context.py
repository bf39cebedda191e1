"""
The span or trace that is current: what is begun next is part of it. It follows `await`; `context_executor` hands it to
threads.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from .recording.step import Step

P = ParamSpec("P")
R = TypeVar("R")

_current: contextvars.ContextVar[Step | None] = contextvars.ContextVar("spoor_current", default=None)


def current_step() -> Step | None:
    """
    None as well in a process that was forked while a trace was current: that trace belongs to the other process, which
    ends and sends it.
    """
    step = _current.get()
    return step if step is not None and step.trace.pid == os.getpid() else None


def enter(step: Step) -> contextvars.Token[Step | None]:
    return _current.set(step)


def leave(token: contextvars.Token[Step | None], before: Step | None) -> None:
    try:
        _current.reset(token)
    except ValueError:  # Left in another context than it was entered in, as finalisers of generators do.
        _current.set(before)


@contextmanager
def within(step: Step) -> Iterator[None]:
    before = _current.get()
    token = enter(step)
    try:
        yield
    finally:
        leave(token, before)


class ContextExecutor(ThreadPoolExecutor):
    """A pool of threads in which the trace or span is current that was so where the work was handed in."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        context = contextvars.copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


def context_executor(max_workers: int | None = None, **options: Any) -> ContextExecutor:
    return ContextExecutor(max_workers, **options)
