"""
Holds deliveries until they are sent: in memory, or in the spool once memory is full or the server has long been away.
A delivery that fits in neither is lost and reported. The caller must hold the sender's lock.
"""

from __future__ import annotations

import time

from .delivery import Delivery, Part, Queue
from .report import Report
from .spool import Spool, SpoolError

#: Delay before an unreadable file is read again.
_AGAIN_SECONDS = 10.0


class Outbox:
    def __init__(
        self, queue: Queue, spool: Spool | None, report: Report, max_memory_bytes: int, *, is_always_spooled: bool
    ) -> None:
        self._queue = queue
        self._spool = spool
        self._report = report
        self._max_memory_bytes = max_memory_bytes
        self.is_always_spooled = is_always_spooled and spool is not None

    def make_room(self, delivery: Delivery) -> None:
        """Called when a delivery is added or grows."""
        is_full = self._queue.bytes > self._max_memory_bytes
        if not (is_full or self.is_always_spooled):
            return
        reason = self._to_spool(delivery)
        if reason is None:
            # A delivery in flight stays in memory until its response arrives.
            if is_full and not delivery.is_under_way:
                self._unload(delivery)
        elif is_full:
            self._report.lose(
                delivery.trace_id, delivery.name, f"{delivery.parts[-1].kind}: the memory is full, and {reason}"
            )
            self._queue.set_parts(delivery, delivery.parts[:-1])
            delivery.unfiled -= 1
            if not delivery.parts and not delivery.is_unloaded and not delivery.is_under_way:
                self._queue.remove(delivery)
        else:
            self._report.problem(reason)

    def _to_spool(self, delivery: Delivery) -> str | None:
        """Writes the parts that a delivery's file lacks. Returns the reason if that fails."""
        if delivery.unfiled == 0:
            return None
        if self._spool is None:
            return "there is no spool"
        try:
            if delivery.is_unloaded and not self.load(delivery):
                return "its file is gone"
            self._spool.write(delivery)
        except SpoolError as error:
            return str(error)
        delivery.unfiled = 0
        delivery.is_file_behind = False
        return None

    def _unload(self, delivery: Delivery) -> None:
        if delivery.file is not None:
            self._queue.set_parts(delivery, [])
            delivery.is_unloaded = True

    def load(self, delivery: Delivery) -> bool:
        """Reads the parts of a file. If the file is missing, the parts in memory are kept."""
        parts: list[Part] | None = None
        if self._spool is not None and delivery.file is not None:
            try:
                parts = self._spool.read(delivery.file)
            except OSError as error:
                delivery.not_before = time.monotonic() + _AGAIN_SECONDS
                self._report.problem(f"the spool cannot be read: {error.strerror or error}")
                return False
        delivery.is_unloaded = False
        if parts is None:
            self._report.problem(
                f"a spool file is gone: it was incomplete, or another process has taken it ({delivery.file})"
            )
            delivery.file = None
            delivery.unfiled = len(delivery.parts)
            delivery.is_file_behind = True
        else:
            self._queue.set_parts(delivery, [*parts, *delivery.parts])
        return True

    def empty_memory(self) -> None:
        """Called when the server has been unreachable for long."""
        if self._spool is None:
            return
        for delivery in self._queue:
            if delivery.is_under_way or not delivery.parts:
                continue
            reason = self._to_spool(delivery)
            # Another delivery may be small enough for the remaining space.
            if reason is not None:
                self._report.problem(reason)
            else:
                self._unload(delivery)

    def keep(self) -> None:
        """Writes all waiting deliveries to the spool. They also stay in memory."""
        if self._spool is None:
            return
        for delivery in self._queue:
            reason = self._to_spool(delivery)
            if reason is not None:
                self._report.problem(reason)
