"""Whatever a server does, the end of a process, `close` and `flush` keep their time, and the traces are on disk."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spoor_client.sending.answers import NoAnswer
from spoor_client.sending.connection import Connection, Server
from tests.conftest import Run

ANSWER = b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n" + b" " * 400


@pytest.fixture(params=["hang", "drip"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that never answers, or that sends one byte every 50 ms."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.recv(65_536)
            for byte in ANSWER:
                if request.param == "hang":
                    done.wait()
                connection.sendall(bytes([byte]))
                if done.wait(0.05):
                    return

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    done.set()
    listener.close()


RECORD = """
import atexit, os, signal, sys, threading, time
import spoor_client as spoor
client = spoor.configure(sys.argv[1])
def record():
    with spoor.trace("t"):
        pass
"""
#: The longest duration of each way to end, with the start of Python on a busy machine.
ENDS = {
    "record()": 9.0,
    "atexit.register(record)": 12.0,
    "record(); os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)": 6.0,
    "record(); client.close(1); os._exit(0)": 5.0,
    "record(); client.close(1); client.flush(1)": 6.0,
    "record(); assert client.flush(1).kept == 1; os.kill(os.getpid(), signal.SIGINT); time.sleep(30)": 10.0,
}


@pytest.mark.parametrize("end", ENDS)
def test_a_slow_server_does_not_delay_the_exit(run: Run, tmp_path: Path, url: str, end: str) -> None:
    started = time.monotonic()
    run(RECORD + end, url)
    assert time.monotonic() - started < ENDS[end]
    assert len(list(tmp_path.rglob("*-*.spoor"))) == 1


def test_a_response_has_a_deadline_for_all_of_its_bytes(url: str) -> None:
    started = time.monotonic()
    outcome = Connection(Server(url, "none")).request("GET", "/", timeout=1)
    assert isinstance(outcome, NoAnswer)
    assert outcome.may_be_taken
    assert time.monotonic() - started < 2
