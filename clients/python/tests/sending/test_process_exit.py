"""However a process ends, its recorded traces are on the server or in the spool."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spoor_client import Spoor
from tests.conftest import Run, Server

RECORD = """
import os, signal, sys, threading, time
import spoor_client as spoor

def record(name, count=10):
    for number in range(count):
        with spoor.trace(name, tags=[sys.argv[1]]) as trace:
            with trace.span("s"):
                pass

"""


def names(server: Server, tag: str) -> list[str]:
    return sorted(trace["name"] for trace in server.stored(tag))


ENDS = {
    "at its end": "record('t')",
    "by sys.exit": "record('t'); sys.exit(0)",
    "by an exception": "record('t'); raise ValueError('broken')",
    "by an exception within a trace": """
record('t', 9)
with spoor.trace('t', tags=[sys.argv[1]]):
    raise ValueError('broken')
""",
    "by SIGTERM": "record('t'); os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)",
    "by SIGTERM within a trace": """
record('t', 9)
with spoor.trace('t', tags=[sys.argv[1]]):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
""",
    "by SIGTERM where a thread has made the client": """
thread = threading.Thread(target=record, args=('t',)); thread.start(); thread.join()
os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)
""",
    "by SIGTERM while it flushes": """
record('t')
threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGTERM)).start()
while True:
    spoor.flush(1)
""",
    "by SIGTERM with a handler of its own": """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
record('t')
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(30)
""",
    "in a thread": "thread = threading.Thread(target=record, args=('t',)); thread.start()",
    "in an exit handler": "import atexit; atexit.register(record, 't')",
    "in an exit handler of before": "record('t', 5)",
}
CODES = {
    "by an exception": 1,
    "by an exception within a trace": 1,
    "by SIGTERM with a handler of its own": 7,
    **{end: -signal.SIGTERM for end in ENDS if "SIGTERM" in end and "handler" not in end},
}


@pytest.mark.parametrize("end", ENDS)
def test_a_process_that_exits(server: Server, run: Run, tag: str, tmp_path: Path, end: str) -> None:
    before = "import atexit; atexit.register(lambda: record('t', 5))" if end.endswith("of before") else ""
    result = run(before + RECORD + ENDS[end], tag)
    assert result.returncode == CODES.get(end, 0), result.stderr
    left = sorted(file.name for file in tmp_path.rglob("*-*.spoor"))
    if end == "in an exit handler of before":
        # This handler runs after the client's. Later traces are kept, unless a running thread sends them.
        assert len(left) <= 5
        assert (
            run("import spoor_client as spoor, time; spoor.configure(); time.sleep(1); spoor.flush()").returncode == 0
        )
        left = [file.name for file in tmp_path.rglob("*-*.spoor")]
    assert left == []
    assert names(server, tag) == ["t"] * 10


@pytest.mark.parametrize("end", ["at its end", "by SIGTERM", "by an exception"])
def test_a_process_that_exits_while_the_server_is_unreachable(
    server: Server, run: Run, tag: str, tmp_path: Path, end: str
) -> None:
    started = time.monotonic()
    run("import spoor_client")
    loaded = time.monotonic()
    result = run(RECORD + ENDS[end], tag, SPOOR_URL="http://127.0.0.1:9")
    # A process that waits for the server would take 5 s longer. A busy machine may take seconds to start Python.
    assert time.monotonic() - loaded < loaded - started + 4
    assert result.returncode == CODES.get(end, 0)
    assert len(list((tmp_path / ".spoor").glob("*.spoor"))) == 10
    said = "10 unsent traces are kept in .* and will be sent by the next process .http://127.0.0.1:9: ConnectionRefused"
    assert re.search(said, result.stderr), result.stderr
    # The next process sends them without being told to.
    assert run(RECORD + "record('t', 1); time.sleep(0.5)", tag).returncode == 0
    assert names(server, tag) == ["t"] * 11
    assert list(tmp_path.rglob("*-*.spoor")) == []


FORKS = {
    "os.fork": """
record('parent', 5)
child = os.fork()
record('child' if child == 0 else 'parent', 5)
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
""",
    "os.fork within a trace": """
with spoor.trace('parent', tags=[sys.argv[1]]) as trace:
    child = os.fork()
    if child == 0:
        assert spoor.current() is None
        trace.span('of the other process').end()
        record('child', 5)
        spoor.flush()
        os._exit(0)
    os.waitpid(child, 0)
record('parent', 9)
""",
    "multiprocessing": """
import multiprocessing
if __name__ == '__main__':
    record('parent', 10)
    context = multiprocessing.get_context('fork')
    child = context.Process(target=record, args=('child', 5))
    child.start()
    child.join()
""",
    "billiard": """
import billiard
record('parent', 10)
child = billiard.context.ForkContext().Process(target=record, args=('child', 5))
child.start()
child.join()
""",
    "billiard, which is imported later": """
record('parent', 5)
import billiard
record('parent', 5)
child = billiard.context.ForkContext().Process(target=record, args=('child', 5))
child.start()
child.join()
""",
    "a pool that is terminated": """
import multiprocessing
record('parent', 10)
with multiprocessing.get_context('fork').Pool(1) as pool:
    pool.apply(record, ('child', 5))
""",
}


@pytest.mark.parametrize("fork", FORKS)
def test_after_a_fork_each_process_records_its_own_traces(
    server: Server, run: Run, tag: str, tmp_path: Path, fork: str
) -> None:
    result = run(RECORD + FORKS[fork], tag)
    assert result.returncode == 0, result.stderr
    assert list(tmp_path.rglob("*-*.spoor")) == []
    assert names(server, tag) == ["child"] * 5 + ["parent"] * 10
    assert all(trace["spanCount"] == 1 for trace in server.stored(tag) if trace["name"] == "child")


def test_a_fork_while_threads_record_leaves_no_lock_behind(server: Server, run: Run, tag: str) -> None:
    result = run(
        RECORD
        + """
stop = threading.Event()
def keep_recording():
    while not stop.is_set():
        record('parent', 1)
        time.sleep(0.001)
threads = [threading.Thread(target=keep_recording) for _ in range(4)]
for thread in threads:
    thread.start()
children = []
for number in range(10):
    child = os.fork()
    if child == 0:
        record('child', 1)
        os._exit(0 if spoor.flush(20).is_complete else 1)
    children.append(child)
codes = [os.waitpid(child, 0)[1] for child in children]
stop.set()
assert codes == [0] * 10, codes
""",
        tag,
    )
    assert result.returncode == 0, result.stderr
    assert names(server, tag).count("child") == 10


def test_a_fork_while_a_thread_creates_the_client_leaves_no_lock_behind(server: Server, run: Run, tag: str) -> None:
    result = run(
        RECORD
        + """
from spoor_client import default
making, forked = threading.Event(), threading.Event()
def make():
    with default._lock:
        making.set()
        forked.wait()
thread = threading.Thread(target=make)
thread.start()
making.wait()
child = os.fork()
if child == 0:
    signal.alarm(30)
    record('child', 1)
    os._exit(0 if spoor.flush(20).is_complete else 1)
code = os.waitpid(child, 0)[1]
forked.set()
assert code == 0, code
""",
        tag,
    )
    assert result.returncode == 0, result.stderr
    assert names(server, tag) == ["child"]


def test_sender_threads_import_nothing(run: Run, tag: str) -> None:
    """
    If a process is forked while a thread imports a module, the module's lock is never released in the new process.
    """
    result = run(
        RECORD
        + """
class Spy:
    seen = []
    def find_spec(self, name, *_):
        if threading.current_thread() is not threading.main_thread():
            self.seen.append(name)
sys.meta_path.insert(0, Spy())
record('t')
spoor.flush(1)
assert Spy.seen == [], Spy.seen
""",
        tag,
    )
    assert result.returncode == 0, result.stderr


def test_a_process_that_records_nothing_exits_at_once_and_leaves_nothing(run: Run, tmp_path: Path) -> None:
    def took(program: str) -> float:
        started = time.monotonic()
        assert run(program).returncode == 0
        return time.monotonic() - started

    # A process with traces would send for 5 s. A busy machine may take seconds to start Python.
    loaded = took("import spoor_client")
    assert took("import spoor_client as spoor; spoor.configure('http://127.0.0.1:9')") < loaded + 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fork", [fork for fork in FORKS if fork != "os.fork within a trace"])
def test_processes_that_exit_while_the_server_is_unreachable(run: Run, tag: str, tmp_path: Path, fork: str) -> None:
    result = run(RECORD + FORKS[fork], tag, SPOOR_URL="http://127.0.0.1:9")
    assert result.returncode == 0, result.stderr
    names = [file.read_text().splitlines()[0] for file in tmp_path.rglob("*-*.spoor")]
    assert sorted("child" in name for name in names) == [False] * 10 + [True] * 5


CELERY = """
import os
from pathlib import Path
import celery, spoor_client as spoor

folder = Path(os.environ["FOLDER"])
app = celery.Celery("work", broker=os.environ["BROKER"])
queue = str(folder / "queue")
if os.environ["BROKER"].startswith("filesystem:"):
    app.conf.broker_transport_options = {
        "data_folder_in": queue, "data_folder_out": queue, "processed_folder": str(folder / "done")
    }

app.conf.task_default_queue = tag = os.environ.get("TAG", "celery")

@app.task
def work(number):
    with spoor.trace("task", tags=[tag]):
        pass
    # From here on, the trace must not be lost.
    with open(folder / "ran", "a") as ran:
        ran.write("x")
"""


NOWHERE = "http://127.0.0.1:9"


def start_celery(
    folder: Path, *options: str, broker: str = "filesystem://localhost", url: str = NOWHERE, **more: str
) -> subprocess.Popen[bytes]:
    """Starts a worker with two processes that runs its tasks, by default while the server is unreachable."""
    (folder / "queue").mkdir()
    (folder / "done").mkdir()
    (folder / "work.py").write_text(CELERY)
    environment = {**os.environ, "FOLDER": str(folder), "SPOOR_URL": url, "BROKER": broker, **more}
    send = "import work\nfor number in range(10): work.work.delay(number)"
    subprocess.run([sys.executable, "-c", send], cwd=folder, env=environment, check=True, timeout=60)
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    command = [sys.executable, "-m", "celery", "-A", "work", "worker", "--concurrency", "2", *quiet, *options]
    log = (folder / "log").open("wb")
    worker = subprocess.Popen(command, cwd=folder, env=environment, stderr=log, stdout=log, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (folder / "ran").exists() or (folder / "ran").stat().st_size < 10:
        assert worker.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
        time.sleep(0.05)
    return worker


@pytest.mark.parametrize(
    "options", [["--max-tasks-per-child=1"], pytest.param([], marks=pytest.mark.long)], ids=["one task each", "warm"]
)
def test_a_celery_worker_keeps_everything_when_it_is_stopped(tmp_path: Path, options: list[str]) -> None:
    worker = start_celery(tmp_path, *options)
    try:
        started = time.monotonic()
        worker.terminate()
        assert worker.wait(60) == 0
        assert time.monotonic() - started < 10
    finally:
        kill_group(worker)
    assert len(list(tmp_path.rglob("*-*.spoor"))) == 10, (tmp_path / "log").read_text()


def test_sender_threads_leave_signals_to_the_main_thread(run: Run, tag: str) -> None:
    """Celery's pool blocks SIGTERM in the main thread while it holds a lock that all of its processes share."""
    result = run(
        RECORD
        + """
record('t')
import pathlib
for thread in threading.enumerate():
    if thread.name == 'spoor-sender':
        status = pathlib.Path(f'/proc/self/task/{thread.native_id}/status').read_text()
        blocked = int(status.partition('SigBlk:')[2].split()[0], 16)
        assert blocked & 1 << signal.SIGTERM - 1, status
        break
else:
    raise AssertionError('there is no such thread')
""",
        tag,
    )
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="session")
def redis() -> Iterator[str]:
    """Returns the address of a broker that speaks Redis's protocol, for which Celery's workers have an event loop."""
    from fakeredis import TcpFakeServer

    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"redis://127.0.0.1:{server.server_address[1]}/0"
    server.shutdown()


def send_sigterm(worker: subprocess.Popen[bytes], to: str) -> None:
    if to == "group":
        os.killpg(worker.pid, signal.SIGTERM)
    else:
        worker.terminate()


# With a broker for which Celery has an event loop, such as Redis or RabbitMQ, each process of the pool has its own
# pipe. With any other broker, they share one pipe and its lock, and a process that SIGTERM reaches just after it has
# acquired the lock keeps the lock forever: the signal's handler raises in `SemLock.__enter__` of billiard 4.3, before
# the `with` block begins. The main process then waits for this lock without end. That happens without this client too,
# and more often if the processes have a second thread, such as this client's. If `REMAP_SIGTERM` is set, the pool's
# processes ignore SIGTERM.
@pytest.mark.long
@pytest.mark.parametrize("to", ["process", "group"])
@pytest.mark.parametrize("is_up", [False, True], ids=["server away", "server up"])
@pytest.mark.parametrize("broker", ["event loop", "one task each", "remapped"])
def test_a_celery_worker_exits_within_10_seconds(
    server: Server, redis: str, tag: str, tmp_path: Path, broker: str, is_up: bool, to: str
) -> None:
    more = {"TAG": tag, "REMAP_SIGTERM": "SIGQUIT"} if broker == "remapped" else {"TAG": tag}
    address = "filesystem://localhost" if broker == "remapped" else redis
    options = ["--max-tasks-per-child=1"] if broker == "one task each" else []
    url = server.url if is_up else NOWHERE
    worker = start_celery(tmp_path, *options, "--queues", tag, broker=address, url=url, **more)
    try:
        started = time.monotonic()
        send_sigterm(worker, to)
        worker.wait(60)
        assert time.monotonic() - started < 10, (tmp_path / "log").read_text()
    finally:
        kill_group(worker)
    kept, stored = len(list(tmp_path.rglob("*-*.spoor"))), len(names(server, tag))
    # A process that is killed before it can delete a sent trace's file leaves a file that is sent again.
    assert stored + kept >= 10 if is_up else (stored, kept) == (0, 10), (tmp_path / "log").read_text()


@pytest.mark.long
def test_a_celery_worker_whose_pool_shares_a_lock_keeps_everything_when_its_group_is_stopped(tmp_path: Path) -> None:
    worker = start_celery(tmp_path)
    try:
        send_sigterm(worker, "group")
        # The main process may wait without end, as explained above. The recorded traces are on disk by then.
        deadline = time.monotonic() + 30
        while len(list(tmp_path.rglob("*-*.spoor"))) < 10 and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        kill_group(worker)
    assert len(list(tmp_path.rglob("*-*.spoor"))) == 10, (tmp_path / "log").read_text()


def kill_group(worker: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait(10)


@pytest.mark.long
def test_gunicorn_workers(server: Server, tag: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        f"""
import spoor_client as spoor
spoor.configure()
with spoor.trace("preload", tags=[{tag!r}]):
    pass

def app(environ, start_response):
    with spoor.trace("request", tags=[{tag!r}]), spoor.span("s"):
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]
"""
    )
    options = ["--preload", "--workers", "3", "--bind", "127.0.0.1:0", "--log-level", "info", "--max-requests", "20"]
    gunicorn = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *options, "app:app"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert gunicorn.stderr is not None
    url = ""
    for line in gunicorn.stderr:
        if "Listening at:" in line:
            url = line.split("Listening at: ")[1].split()[0]
        if line.count("Booting worker"):
            break
    import urllib.request

    for _ in range(100):
        assert urllib.request.urlopen(url, timeout=20).read() == b"ok"
    gunicorn.send_signal(signal.SIGTERM)
    gunicorn.communicate(timeout=60)
    assert names(server, tag) == ["preload"] + ["request"] * 100
    assert list(tmp_path.rglob("*-*.spoor")) == []


def test_traces_running_when_the_client_is_closed_are_recorded_as_they_are(client: Spoor) -> None:
    trace = client.start("job")
    outer = trace.start_span("outer", input="in")
    with client.span("inner", kind="llm", input="asked") as alone:
        client.close()
        assert outer.is_ended and alone.is_ended
    assert client.flush(20).is_complete
    detail = client.traces.get(trace.id)
    assert (detail["trace"]["status"], detail["spans"][0]["input"]) == ("unset", "in")
    assert detail["trace"]["metadata"] == {"spoor": {"notEnded": True, "spansNotEnded": 1}}
    assert [event["name"] for event in detail["spans"][0]["events"]] == ["not ended"]
    stored = client.traces.get(alone.trace.id)["trace"]
    assert (stored["input"], stored["status"]) == ("asked", "unset")
