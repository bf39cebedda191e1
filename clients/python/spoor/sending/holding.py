"""
Where parcels wait: in memory, and beyond a bound, or when the server has been away for long, in the spool. What neither
has room for is lost, and said. Whoever calls holds the lock of the sender.
"""

from __future__ import annotations

import time

from .parcels import Parcel, Part, Queue
from .report import Report
from .spool import Spool, SpoolError

#: A file that cannot be read now is read again.
_AGAIN_SECONDS = 10.0


class Holding:
    def __init__(
        self, queue: Queue, spool: Spool | None, report: Report, max_memory_bytes: int, *, is_always_spooled: bool
    ) -> None:
        self._queue = queue
        self._spool = spool
        self._report = report
        self._max_memory_bytes = max_memory_bytes
        self.is_always_spooled = is_always_spooled and spool is not None

    def make_room(self, parcel: Parcel) -> None:
        """A parcel has come, or has grown."""
        is_full = self._queue.bytes > self._max_memory_bytes
        if not (is_full or self.is_always_spooled):
            return
        reason = self._to_spool(parcel)
        if reason is None:
            # What is under way is in memory until it is answered.
            if is_full and not parcel.is_under_way:
                self._unload(parcel)
        elif is_full:
            self._report.lose(
                parcel.trace_id, parcel.name, f"{parcel.parts[-1].kind}: the memory is full, and {reason}"
            )
            self._queue.set_parts(parcel, parcel.parts[:-1])
            parcel.unfiled -= 1
            if not parcel.parts and not parcel.is_unloaded and not parcel.is_under_way:
                self._queue.remove(parcel)
        else:
            self._report.problem(reason)

    def _to_spool(self, parcel: Parcel) -> str | None:
        """Writes what the file of a parcel lacks. Returns why it cannot."""
        if parcel.unfiled == 0:
            return None
        if self._spool is None:
            return "there is no spool"
        try:
            if parcel.is_unloaded and not self.load(parcel):
                return "its file is gone"
            self._spool.write(parcel)
        except SpoolError as error:
            return str(error)
        parcel.unfiled = 0
        parcel.is_file_behind = False
        return None

    def _unload(self, parcel: Parcel) -> None:
        if parcel.file is not None:
            self._queue.set_parts(parcel, [])
            parcel.is_unloaded = True

    def load(self, parcel: Parcel) -> bool:
        """Reads the parts of a file. Without it, what is in memory goes on."""
        parts: list[Part] | None = None
        if self._spool is not None and parcel.file is not None:
            try:
                parts = self._spool.read(parcel.file)
            except OSError as error:
                parcel.not_before = time.monotonic() + _AGAIN_SECONDS
                self._report.problem(f"the spool cannot be read: {error.strerror or error}")
                return False
        parcel.is_unloaded = False
        if parts is None:
            self._report.problem(
                f"a file of the spool is gone: it was not whole, or another process has taken it ({parcel.file})"
            )
            parcel.file = None
            parcel.unfiled = len(parcel.parts)
            parcel.is_file_behind = True
        else:
            self._queue.set_parts(parcel, [*parts, *parcel.parts])
        return True

    def empty_memory(self) -> None:
        """The server has been away for long."""
        for parcel in self._queue:
            if parcel.is_under_way or not parcel.parts:
                continue
            reason = self._to_spool(parcel)
            # Another may be small enough for what room there is.
            if reason is not None:
                self._report.problem(reason)
            else:
                self._unload(parcel)

    def keep(self) -> None:
        """Writes everything that waits to the spool. It stays in memory as well."""
        for parcel in self._queue:
            reason = self._to_spool(parcel)
            if reason is not None:
                self._report.problem(reason)
