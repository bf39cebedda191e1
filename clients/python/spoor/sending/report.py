"""
What is gathered for a Result, and what is said of problems: to the log, and to whom the application names. Nothing is
said while a lock is held, since whoever listens may do anything.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from .result import Loss, Result

log = logging.getLogger("spoor")

_MAX_LOST = 1_000
_MAX_PROBLEMS = 100
#: More at once are not said: the Result has them.
_MAX_WAITING = 100


class Report:
    """It has no lock: its owner has, and calls `say` without it."""

    def __init__(self, on_problem: Callable[[str], None] | None) -> None:
        self.on_problem = on_problem
        self.sent = 0
        self._lost: deque[Loss] = deque(maxlen=_MAX_LOST)
        self._lost_count = 0
        self._problems: deque[str] = deque(maxlen=_MAX_PROBLEMS)
        self._waiting: deque[str] = deque(maxlen=_MAX_WAITING)

    def lose(self, trace_id: str, name: str, reason: str) -> None:
        self._lost.append(Loss(trace_id, name, reason))
        self._lost_count += 1
        self._waiting.append(f"trace {trace_id} ({name}) is lost: {reason}")

    def problem(self, text: str) -> None:
        """One that is known is not said again."""
        if text not in self._problems:
            self._problems.append(text)
            self._waiting.append(text)

    def result(self, kept: int) -> Result:
        return Result(self.sent, kept, list(self._lost), self._lost_count, list(self._problems))

    def say(self) -> None:
        while self._waiting:
            try:
                text = self._waiting.popleft()
            except IndexError:  # Another thread was faster.
                return
            log.warning("spoor: %s", text)
            if self.on_problem is not None:
                try:
                    self.on_problem(text)
                except Exception as error:
                    log.warning("spoor: on_problem failed: %r", error)
