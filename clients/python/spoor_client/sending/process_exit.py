"""
Handles the end of a process, and forks.

- When a process ends normally (`atexit`; processes of multiprocessing and billiard have their own mechanism), waiting
  deliveries are sent for up to 5 s, and the rest goes to the spool.
- A process of Celery's pool ends without any of these, after Celery's signal `worker_process_shutdown`. It may be
  killed at any moment after the signal, so the spool is written first.
- By default, SIGTERM ends Python without running `atexit`. Unless the application has its own handler, a handler writes
  the spool, sends for up to 2 s, and lets the signal end the process.
- After a fork, the new process starts without deliveries, because they belong to the parent process.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from types import FrameType
from typing import Protocol

EXIT_SECONDS = 5.0
SIGTERM_SECONDS = 2.0


class Leaver(Protocol):
    def leave(self, timeout: float) -> None: ...

    def keep(self) -> None: ...

    def after_fork(self) -> None: ...


_leavers: weakref.WeakSet[Leaver] = weakref.WeakSet()
_prepared_pid: int | None = None


def register(leaver: Leaver) -> None:
    _leavers.add(leaver)
    _prepare_signal()


def prepare_process() -> None:
    """
    Must be called on the first use in a process, because multiprocessing and billiard end processes without `atexit`.
    """
    global _prepared_pid
    # billiard, Celery's version of multiprocessing, imports this module too.
    if _prepared_pid == os.getpid() or "multiprocessing.util" not in sys.modules:
        return
    _prepared_pid = os.getpid()
    from multiprocessing import parent_process
    from multiprocessing.util import Finalize

    if parent_process() is None and not _is_child_of_billiard():
        return
    Finalize(None, leave, exitpriority=10)
    if (signals := sys.modules.get("celery.signals")) is not None:
        signals.worker_process_shutdown.connect(_on_pool_exit, weak=False, dispatch_uid="spoor")


def _is_child_of_billiard() -> bool:
    process = sys.modules.get("billiard.process")
    return process is not None and process.current_process().name != "MainProcess"


def _on_pool_exit(**_: object) -> None:
    _keep()
    leave(SIGTERM_SECONDS)


def _keep() -> None:
    for leaver in list(_leavers):
        leaver.keep()


def leave(timeout: float = EXIT_SECONDS) -> None:
    for leaver in list(_leavers):
        leaver.leave(timeout)


def _after_fork() -> None:
    for leaver in list(_leavers):
        leaver.after_fork()


def _prepare_signal() -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _on_sigterm)
    except ValueError:  # This is not the main interpreter.
        pass


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    try:
        _keep()
        leave(SIGTERM_SECONDS)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


# Registered at import, so that it runs after the exit handlers of modules that import it, which may also record.
atexit.register(leave)
# Also done at import, because signal handlers can be set only in the main thread, and a client may be created in any
# thread.
_prepare_signal()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
