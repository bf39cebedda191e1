"""
Evaluators: functions that judge traces in the application's own process. Their verdicts are scores, so a trace is
judged once per name, and an interrupted run is continued by the next run. (`spoor evaluate` does the same directly on
the database. Its scores name the evaluator.)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from .reads import SpoorError, Traces
from .sending.scores import value_of
from .types import TraceDetail

_MAX_FAILURES = 100
#: `follow` looks for new traces at this interval or, if a pass takes long, after a multiple of the pass's duration.
_PAUSE_SECONDS = 2.0
_PAUSE_FACTOR = 10


class Verdict(NamedTuple):
    value: float | bool | str
    comment: str | None = None
    span_id: str | None = None


Judge = Callable[[TraceDetail], "Verdict | float | bool | str | None"]


class Client(Protocol):
    traces: Traces

    def problem(self, text: str) -> None: ...

    def score(
        self,
        trace_id: str,
        name: str,
        value: float | bool | str,
        comment: str | None = None,
        span_id: str | None = None,
    ) -> None: ...


@dataclass
class Evaluation:
    #: Number of traces with a verdict.
    judged: int = 0
    #: Number of traces for which the judge returned None.
    passed: int = 0
    failed: int = 0
    #: Messages of the first hundred failures, by trace.
    failures: dict[str, str] = field(default_factory=dict)
    #: Mean of the verdicts that are numbers, and share of True among booleans; None if there are neither.
    mean: float | None = None


def evaluate(
    client: Client,
    judge: Judge,
    *,
    name: str,
    concurrency: int,
    follow: bool,
    stop: threading.Event | None,
    filters: Mapping[str, Any],
) -> Evaluation:
    """
    Judges the traces that `traces.all(**filters)` returns, several at once; with `follow`, also new traces. If a judge
    raises, the failure is counted, and the next run tries the trace again.
    """
    if not callable(judge):
        raise TypeError(f"judge must be a function, not {judge!r}")
    evaluation = Evaluation()
    numbers, total = 0, 0.0
    stopped = stop or threading.Event()
    lock = threading.Lock()

    def judge_one(trace_id: str) -> None:
        nonlocal numbers, total
        try:
            verdict = judge(client.traces.get(trace_id))
            given = verdict if isinstance(verdict, Verdict) or verdict is None else Verdict(verdict)
            value = None if given is None else value_of(given.value)
        except Exception as error:
            with lock:
                evaluation.failed += 1
                if len(evaluation.failures) < _MAX_FAILURES:
                    evaluation.failures[trace_id] = repr(error)
            return
        if given is None or value is None:
            with lock:
                evaluation.passed += 1
            return
        client.score(trace_id, name, *given)
        with lock:
            evaluation.judged += 1
            if not isinstance(value, str):
                numbers += 1
                total += value
                evaluation.mean = total / numbers

    waiting = threading.Semaphore(2 * concurrency)

    def judge_next(trace_id: str) -> None:
        try:
            judge_one(trace_id)
        finally:
            waiting.release()

    #: Traces already judged in this run, because their scores may not be stored yet.
    seen: set[str] = set()

    def look() -> None:
        for trace in client.traces.all(**filters):
            if trace["id"] in seen or trace["status"] == "running" or name in trace["scores"]:
                continue
            seen.add(trace["id"])
            # Traces are read ahead only as far as they are about to be judged.
            waiting.acquire()
            if stopped.is_set():
                return
            pool.submit(judge_next, trace["id"])

    with ThreadPoolExecutor(concurrency, thread_name_prefix="spoor-evaluate") as pool:
        while not stopped.is_set():
            began = time.monotonic()
            try:
                look()
            except SpoorError as error:
                if not follow or not _may_pass(error):
                    raise
                client.problem(f"evaluate tries again later: {error}")
            if not follow:
                break
            stopped.wait(max(_PAUSE_SECONDS, _PAUSE_FACTOR * (time.monotonic() - began)))
    return evaluation


def _may_pass(error: SpoorError) -> bool:
    """Returns whether the server is unreachable or busy. Any other error would occur again."""
    return error.status == 0 or error.status == 429 or error.status >= 500
