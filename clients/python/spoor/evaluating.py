"""
Evaluators: functions that judge traces, in a process of the application's own. Their verdicts are scores, so a trace is
judged once for each name, and a run that was stopped is gone on with by the next. (`spoor evaluate` does the same
beside the server, and says in the scores who judged.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from .reading import Traces
from .types import TraceDetail, TraceSummary

_MAX_ERRORS = 100


class Verdict(NamedTuple):
    value: float | bool | str
    comment: str | None = None
    span_id: str | None = None


Judge = Callable[[TraceDetail], "Verdict | float | bool | str | None"]


class Client(Protocol):
    traces: Traces

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
    judged: int = 0
    #: They had a score of this name, or run yet, or the judge had nothing to say.
    passed_over: int = 0
    failed: int = 0
    #: What the first hundred that failed say, by trace.
    errors: dict[str, str] = field(default_factory=dict)
    #: Of numbers, and of booleans the share of True.
    values: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        return sum(self.values) / len(self.values) if self.values else None


def evaluate(client: Client, judge: Judge, *, name: str, concurrency: int, **filters: Any) -> Evaluation:
    """
    Judges the traces that `traces.all(**filters)` has, so many at once. A judge that raises is counted, and asked again
    by the next run.
    """
    evaluation = Evaluation()
    lock = threading.Lock()

    def judge_one(trace_id: str) -> None:
        try:
            verdict = judge(client.traces.get(trace_id))
        except Exception as error:
            with lock:
                evaluation.failed += 1
                if len(evaluation.errors) < _MAX_ERRORS:
                    evaluation.errors[trace_id] = repr(error)
            return
        if verdict is None:
            with lock:
                evaluation.passed_over += 1
            return
        given = verdict if isinstance(verdict, Verdict) else Verdict(verdict)
        client.score(trace_id, name, *given)
        with lock:
            evaluation.judged += 1
            if not isinstance(given.value, str):
                evaluation.values.append(float(given.value))

    waiting = threading.Semaphore(2 * concurrency)

    def judge_next(trace_id: str) -> None:
        try:
            judge_one(trace_id)
        finally:
            waiting.release()

    with ThreadPoolExecutor(concurrency, thread_name_prefix="spoor-evaluate") as pool:
        for trace in _to_be_judged(client.traces.all(**filters), name, evaluation):
            # No more is read ahead than is about to be judged.
            waiting.acquire()
            pool.submit(judge_next, trace["id"])
    return evaluation


def _to_be_judged(traces: Iterator[TraceSummary], name: str, evaluation: Evaluation) -> Iterator[TraceSummary]:
    for trace in traces:
        if trace["status"] == "running" or name in trace["scores"]:
            evaluation.passed_over += 1
        else:
            yield trace
