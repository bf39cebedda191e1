"""
Sends deliveries in its own threads until the server has answered for each. The application never waits for this.

While the server does not respond, all deliveries wait: in memory, and in the spool after 10 s or beyond 32 MiB. A
delivery that fits in neither is lost and reported. If the key is rejected, everything is kept, and sending is retried
once a minute.

Threads are created on the first use in each process, because a forked process does not inherit threads.
"""

from __future__ import annotations

import hashlib
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from .answers import Answer, Do, NoAnswer, Verdict, judge, read_json
from .connection import Connection, Server
from .delivery import Delivery, Part, PartKind, Queue, path_of
from .outbox import Outbox
from .owner import Owner
from .report import Report
from .result import Result
from .scores import count_equal
from .smaller import smaller
from .spool import Found, Spool

MAX_MEMORY_BYTES = 32 * 1024 * 1024
MAX_IN_FLIGHT = 8
#: More threads are started while each thread has more deliveries than this.
_DELIVERIES_A_THREAD = 16
_IDLE_THREAD_SECONDS = 5.0
#: Deliveries in memory go to the spool when the server has been unreachable for this long.
SPOOL_AFTER_SECONDS = 10.0
#: Interval at which the spool is checked for entries that other processes left.
_LOOK_SECONDS = 10.0
#: Time within which an application usually creates all its clients.
SETTLED_SECONDS = 0.5
#: A server that does not describe the key must not delay deliveries for longer than this.
_DESCRIBE_SECONDS = 5.0
_REMEMBERED = 1_000

#: Called now and then by one of the sender's threads. Returns the number of seconds until the next call.
Tick = Callable[[], float | None]


def _leave_signals_to_other_threads() -> None:
    """
    Only the main thread runs Python's signal handlers, but a signal that ends the process may be delivered to any
    thread. Celery's pool blocks SIGTERM in the main thread while it holds a lock that all processes share.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


class Sender:
    def __init__(
        self,
        server: Server,
        spool: Spool | None,
        *,
        is_always_spooled: bool = False,
        on_problem: Callable[[str], None] | None = None,
        tick: Tick | None = None,
        max_memory_bytes: int = MAX_MEMORY_BYTES,
    ) -> None:
        self.server = server
        self.spool = spool
        self._is_always_spooled = is_always_spooled
        self._on_problem = on_problem
        self._tick = tick or (lambda: None)
        self._max_memory_bytes = max_memory_bytes
        self._begin()

    def _begin(self) -> None:
        # The lock is reentrant, because signal handlers and finalisers interrupt arbitrary code in any thread.
        self._changed = threading.Condition(threading.RLock())
        self._queue = Queue()
        self._report = Report(self._on_problem)
        self._outbox = Outbox(
            self._queue, self.spool, self._report, self._max_memory_bytes, is_always_spooled=self._is_always_spooled
        )
        self._threads = 0
        self._pause_until = 0.0
        self._failures = 0
        self._failing_since: float | None = None
        self._failure = "no response yet"
        self._is_key_refused = False
        self._next_look = 0.0
        self._settled_at = time.monotonic() + SETTLED_SECONDS
        #: The remaining spool entries, as last reported.
        self._named: tuple[object, ...] = ()
        self._is_woken = False
        self._has_left = False
        self._scores_sent: OrderedDict[bytes, int] = OrderedDict()
        self._joined: OrderedDict[str, None] = OrderedDict()

    def after_fork(self) -> None:
        """Called in a forked process. Waiting deliveries belong to the parent process, which sends them."""
        if self.spool is not None:
            self.spool.forget()
        self._begin()

    # Methods for the client.

    def put(self, trace_id: str, name: str, kind: PartKind, body: bytes) -> None:
        with self._changed:
            delivery = self._queue.of_trace(trace_id)
            if delivery is None:
                delivery = Delivery(trace_id, name)
                self._queue.add(delivery)
            self._queue.set_parts(delivery, [*delivery.parts, Part(kind, body)])
            delivery.unfiled += 1
            delivery.is_file_behind = True
            self._outbox.make_room(delivery)
            self._start_threads()
            self._changed.notify()
        self._report.say()

    def problem(self, text: str) -> None:
        with self._changed:
            self._report.problem(text)
        self._report.say()

    def lose(self, trace_id: str, name: str, reason: str) -> None:
        with self._changed:
            self._report.lose(trace_id, name, reason)
        self._report.say()

    def start(self) -> None:
        """Starts to send what earlier processes left, if there is anything."""
        with self._changed:
            if self.spool is not None and self.spool.folder.is_dir():
                self._start_threads()

    def wake(self) -> None:
        """Makes a thread call the tick soon."""
        with self._changed:
            self._is_woken = True
            self._start_threads()
            self._changed.notify_all()

    def wait(self, timeout: float, *, is_patient: bool = True) -> None:
        """
        Waits until everything is sent, the time is up, the key is rejected or, without patience, the server is
        unreachable.
        """
        with self._changed:
            before = self._failures
            self._try_now()
        self._wait_until_empty(
            time.monotonic() + timeout,
            lambda: self._is_key_refused or (not is_patient and self._failures > before),
        )

    def flush(self, timeout: float) -> Result:
        self.wait(timeout)
        with self._changed:
            result = self._report.result(len(self._queue))
        self._report.say()
        return result

    def leave(self, timeout: float) -> None:
        """Called when the process ends. Deliveries that cannot be sent in time go to the spool."""
        with self._changed:
            if self.spool is None:
                self._try_now()
        # If the server is or becomes unreachable, the spool is sufficient, because the next process sends the entries.
        if not self._is_enough_at_the_end():
            self._wait_until_empty(time.monotonic() + timeout, self._is_enough_at_the_end)
        self.keep()
        with self._changed:
            self._has_left = True
            kept = [delivery for delivery in self._queue if not delivery.is_file_behind]
            for delivery in self._queue:
                # The entries in the spool now belong to the next process.
                self._queue.remove(delivery)
                if delivery.is_file_behind:
                    why = "there is no spool" if self.spool is None else "it could not be kept"
                    self._report.lose(
                        delivery.trace_id, delivery.name, f"the process ended before it was sent, and {why}"
                    )
            if self.spool is not None:
                if kept:
                    count = "1 unsent trace is" if len(kept) == 1 else f"{len(kept):,} unsent traces are"
                    self._report.problem(
                        f"{count} kept in {self.spool.folder} and will be sent by the next process "
                        f"({self.server.url}: {self._failure})"
                    )
                self.spool.release()
                self.spool.owner.unregister(self.spool.folder)
                # A later delivery, recorded while the application ends, goes to the spool at once.
                self._outbox.is_always_spooled = True
        self._report.say()

    def _is_enough_at_the_end(self) -> bool:
        return self._is_key_refused or (self._failures > 0 and self.spool is not None)

    def keep(self) -> None:
        """Writes all waiting deliveries to the spool. They also stay in memory."""
        with self._changed:
            self._outbox.keep()

    # Threads.

    def _start_threads(self) -> None:
        wanted = (
            1 if len(self._queue) <= _DELIVERIES_A_THREAD * self._threads or self._failures > 0 else self._threads + 1
        )
        if self._threads >= min(wanted, MAX_IN_FLIGHT):
            return
        thread = threading.Thread(target=self._work, args=(self._threads,), name="spoor-sender", daemon=True)
        self._threads += 1
        try:
            thread.start()
        except RuntimeError:
            # The interpreter is shutting down, so `leave` sends in its own thread.
            self._threads -= 1

    def _work(self, number: int) -> None:
        _leave_signals_to_other_threads()
        connection = Connection(self.server)
        idle_since = time.monotonic()
        while True:
            try:
                wait = self._step(connection, number == 0)
            except Exception as error:  # A bug of this client must not end the sending.
                self.problem(f"a bug in this client: {error!r}")
                wait = 1.0
            if wait is None:
                idle_since = time.monotonic()
                continue
            with self._changed:
                is_idle = time.monotonic() - idle_since > _IDLE_THREAD_SECONDS
                if is_idle and number == self._threads - 1 and (number > 0 or self._has_left):
                    self._threads -= 1
                    connection.close()
                    return
                if not (self._is_woken or self._may_send(time.monotonic())):
                    self._changed.wait(wait if number == 0 else min(wait, _IDLE_THREAD_SECONDS))

    def _step(self, connection: Connection, is_first: bool) -> float | None:
        """Sends one delivery. Returns None if a delivery was sent, otherwise the number of seconds without work."""
        wait = _LOOK_SECONDS
        if is_first:
            self._is_woken = False
            wait = min(self._tick() or wait, wait)
            wait = min(wait, self._adopt(connection))
        with self._changed:
            now = time.monotonic()
            if now < self._pause_until:
                return min(wait, self._pause_until - now)
            delivery, next_at = self._queue.take(now)
        if delivery is None:
            return wait if next_at is None else min(wait, max(next_at - now, 0.001))
        try:
            while self._send_next(connection, delivery):
                pass
        finally:
            with self._changed:
                self._queue.put_back(delivery)
                self._changed.notify_all()
        self._report.say()
        return None

    def _may_send(self, now: float) -> bool:
        return now >= self._pause_until and self._queue.has_ready(now)

    def _wait_until_empty(self, deadline: float, is_enough: Callable[[], bool]) -> None:
        connection: Connection | None = None
        while True:
            with self._changed:
                now = time.monotonic()
                if len(self._queue) == 0 or now >= deadline or is_enough():
                    break
                if self._threads > 0:
                    self._changed.wait(min(deadline - now, 0.5))
                    continue
            # No thread can be started anymore.
            connection = connection or Connection(self.server)
            connection.deadline = deadline
            wait = self._step(connection, False)
            if wait is not None:
                time.sleep(min(wait, max(deadline - time.monotonic(), 0)))
        if connection is not None:
            connection.close()

    # Sending of one delivery.

    def _send_next(self, connection: Connection, delivery: Delivery) -> bool:
        """Sends the first part of a delivery. Returns whether another part can be sent now."""
        with self._changed:
            if delivery.is_unloaded and not self._outbox.load(delivery):
                return False
            if not delivery.parts:
                self._forget(delivery)
                return False
            part = delivery.parts[0]
        outcome = self._transmit(connection, delivery, part)
        with self._changed:
            verdict = judge(part.kind, outcome, part.tries, self._failures)
            if not (isinstance(outcome, Answer) and outcome.status < 500):
                part.is_unsure = part.is_unsure or isinstance(outcome, Answer) or outcome.may_be_taken
            return self._apply(delivery, part, verdict, outcome)

    def _transmit(self, connection: Connection, delivery: Delivery, part: Part) -> Answer | NoAnswer:
        path = path_of(delivery.trace_id, part.kind)
        if part.kind == "score" and part.is_unsure:
            # The client gives scores no id, so the server is asked whether this score is already stored.
            there = connection.request("GET", path)
            if isinstance(there, NoAnswer):
                return there
            count = count_equal(part.body, there.body)
            if count is not None and count > self._scores_sent.get(_score_key(delivery, part), 0):
                return Answer(200, b'{"ok":true}')
            # A key without read access cannot check, so the score is sent again.
            if count is None and there.status not in (401, 403, 404):
                return there
        return connection.request("POST", path, part.body)

    def _apply(self, delivery: Delivery, part: Part, verdict: Verdict, outcome: Answer | NoAnswer) -> bool:
        if verdict.do in (Do.WAIT, Do.STOP):
            self._is_key_refused = self._is_key_refused or verdict.do is Do.STOP
            self._fail(verdict)
            return False
        self._failures = 0
        self._failing_since = None
        self._is_key_refused = False
        if verdict.do is Do.LATER:
            part.tries += 1
            delivery.not_before = time.monotonic() + verdict.wait
            if part.tries == 3:
                self._report.problem(f"{part.kind} of trace {delivery.trace_id} was not accepted: {verdict.reason}")
            return False
        instead: list[Part] = []
        if verdict.do is Do.DOUBT:
            delivery.doubt = verdict.reason
        elif verdict.do is Do.DIVIDE and (instead := smaller(part)):
            self._report.problem("a request was rejected as too large, and is sent in smaller ones")
        elif verdict.do is not Do.DONE:
            self._drop(delivery, part, verdict.reason)
        elif isinstance(outcome, Answer):
            self._stored(delivery, part, outcome)
        self._queue.set_parts(delivery, [*instead, *(each for each in delivery.parts if each is not part)])
        # The file is rewritten if necessary, so that parts that were sent are not sent again.
        delivery.unfiled = len(delivery.parts)
        return True

    def _stored(self, delivery: Delivery, part: Part, answer: Answer) -> None:
        if part.kind == "score":
            key = _score_key(delivery, part)
            self._scores_sent[key] = self._scores_sent.pop(key, 0) + 1
            if len(self._scores_sent) > _REMEMBERED:
                self._scores_sent.popitem(last=False)
        if (
            part.kind == "end"
            and delivery.doubt is not None
            and (read_json(answer.body) or {}).get("duplicate") is not True
        ):
            self._report.lose(delivery.trace_id, delivery.name, f"spans: {delivery.doubt}")
        if part.kind in ("record", "end"):
            self._report.sent += 1
        elif part.kind == "otlp" and delivery.trace_id not in self._joined:
            # The other parts belong to the same trace.
            self._report.sent += 1
            self._joined[delivery.trace_id] = None
            if len(self._joined) > _REMEMBERED:
                self._joined.popitem(last=False)

    def _drop(self, delivery: Delivery, part: Part, reason: str) -> None:
        """Without its start, nothing else of a trace can be stored."""
        digest = f" (SHA-256 of the body: {hashlib.sha256(part.body).hexdigest()})" if "conflict" in reason else ""
        self._report.lose(delivery.trace_id, delivery.name, f"{part.kind}: {reason}{digest}")
        if part.kind in ("record", "start"):
            self._queue.set_parts(delivery, [part])

    def _forget(self, delivery: Delivery) -> None:
        self._queue.remove(delivery)
        if delivery.file is not None and self.spool is not None:
            self.spool.remove(delivery.file)

    # An unreachable server.

    def _fail(self, verdict: Verdict) -> None:
        now = time.monotonic()
        self._failure = verdict.reason
        if now >= self._pause_until:
            # Concurrent requests usually fail together. Their failures count as one failure.
            self._failures += 1
            self._pause_until = now + verdict.wait
        self._failing_since = now if self._failing_since is None else self._failing_since
        if verdict.do is Do.STOP:
            self._report.problem(f"the key is rejected, and everything is kept: {verdict.reason}")
        if self._is_failing_long:
            self._report.problem(f"{self.server.url} accepts nothing, and everything is kept: {verdict.reason}")
            self._outbox.empty_memory()

    @property
    def _is_failing_long(self) -> bool:
        return self._failing_since is not None and time.monotonic() - self._failing_since >= SPOOL_AFTER_SECONDS

    def _adopt(self, connection: Connection) -> float:
        """Takes over what other processes left in the spool. Returns the number of seconds until the next check."""
        now = time.monotonic()
        if self.spool is None or now < self._next_look:
            return _LOOK_SECONDS if self.spool is None else self._next_look - now
        self._next_look = now + _LOOK_SECONDS
        self.spool.touch()
        # Requested once by each process that sends traces, so that clients with a replacement key can find its entries.
        if self._report.sent > 0:
            self._describe_key(connection, self.spool.owner)
        found = self._look(self.spool)
        if found.asks and self._describe_key(connection, self.spool.owner):
            found = self._look(self.spool)
        if found.is_unsettled:
            self._next_look = self._settled_at
        return max(self._next_look - time.monotonic(), 0.01)

    def _look(self, spool: Spool) -> Found:
        with self._changed:
            # Entries that this client has left may be taken by other clients.
            found = Found() if self._has_left else spool.adopt(is_settled=time.monotonic() >= self._settled_at)
            for delivery in found.adopted:
                self._queue.add(delivery)
            self._name_left(spool, found)
        self._report.say()
        return found

    def _describe_key(self, connection: Connection, owner: Owner) -> bool:
        """Returns whether the project and environment of the key are known."""
        if owner.destination is None and time.monotonic() >= self._pause_until:
            outcome = connection.request("GET", "/api/v1/key", timeout=_DESCRIBE_SECONDS)
            if isinstance(outcome, Answer) and outcome.status == 200:
                owner.learn(outcome.body)
        return owner.destination is not None

    def _name_left(self, spool: Spool, found: Found) -> None:
        """Reports the remaining entries, once for each set of keys."""
        named = (*sorted(found.others), found.unnamed > 0)
        if found.is_unsettled or named == self._named:
            return
        self._named = named
        if found.others:
            self._report.problem(
                f"traces left in {spool.folder}: {found.others.total():,}, recorded with another key "
                f"({', '.join(sorted(found.others))}), not known to be for the same project and environment. "
                '"spoor send" sends them with that key'
            )
        if found.unnamed > 0:
            self._report.problem(
                f"traces left in {spool.folder}: {found.unnamed:,}, recorded by an earlier version, which did not say "
                'with which key, and this process has several. "spoor send" sends them with one key'
            )

    def _try_now(self) -> None:
        if not self._is_key_refused:
            self._pause_until = min(self._pause_until, time.monotonic())
        if len(self._queue) > 0:
            self._start_threads()
        self._changed.notify_all()


def _score_key(delivery: Delivery, part: Part) -> bytes:
    return hashlib.sha256(delivery.trace_id.encode() + part.body).digest()
