"""Replaces the sender if the server is unknown. Everything is counted as lost, and the reason is reported once."""

from __future__ import annotations

from collections.abc import Callable

from .delivery import PartKind
from .report import Report
from .result import Result


class NullSender:
    def __init__(self, reason: str, on_problem: Callable[[str], None] | None = None) -> None:
        self.reason = reason
        self._report = Report(on_problem)
        self._lost = Report(None)

    def put(self, trace_id: str, name: str, kind: PartKind, body: bytes) -> None:
        self.lose(trace_id, name, f"{kind}: {self.reason}")

    def lose(self, trace_id: str, name: str, reason: str) -> None:
        self._lost.lose(trace_id, name, reason)
        self.problem(f"nothing is recorded: {self.reason}")

    def problem(self, text: str) -> None:
        self._report.problem(text)
        self._report.say()

    def flush(self, timeout: float) -> Result:
        lost = self._lost.result(0)
        return Result(0, 0, lost.lost, lost.lost_count, self._report.result(0).problems)

    def wait(self, timeout: float, *, is_patient: bool = True) -> None: ...

    def leave(self, timeout: float) -> None: ...

    def keep(self) -> None: ...

    def start(self) -> None: ...

    def wake(self) -> None: ...

    def after_fork(self) -> None: ...
