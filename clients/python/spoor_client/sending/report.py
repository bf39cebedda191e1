"""
Collects data for a Result, and reports problems to the log and to the application's callback. The callback is never
called while a lock is held, because it may do anything.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from .result import Loss, Result

log = logging.getLogger("spoor_client")

_MAX_LOST = 1_000
_MAX_PROBLEMS = 100
#: Maximum number of unreported problems. The Result has the others.
_MAX_WAITING = 100


class Report:
    """Has no lock. The owner locks every call except `say`."""

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
        """Adds a problem. A known problem is not reported again."""
        if text not in self._problems:
            self._problems.append(text)
            self._waiting.append(text)

    def result(self, kept: int) -> Result:
        return Result(self.sent, kept, list(self._lost), self._lost_count, list(self._problems))

    def say(self) -> None:
        while self._waiting:
            try:
                text = self._waiting.popleft()
            except IndexError:  # Another thread reported it first.
                return
            log.warning("spoor: %s", text)
            if self.on_problem is not None:
                try:
                    self.on_problem(text)
                except Exception as error:
                    log.warning("spoor: on_problem failed: %r", error)
