"""A serverless platform freezes a process between requests, and in the middle of one. No trace is lost or doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import Server
from tests.faults import FaultyWay

PROGRAM = """
import sys
import spoor_client as spoor
spoor.configure(sys.argv[1], flush_each=True)
for line in sys.stdin:
    with spoor.trace("frozen", tags=[sys.argv[2]]):
        pass
    print("recorded", flush=True)
result = spoor.flush(30)
print(result.sent, result.kept, result.lost_count)
"""
ROUNDS = 4


def test_a_process_is_frozen_while_it_sends(server: Server, way: FaultyWay, tag: str, tmp_path: Path) -> None:
    # The first response to each trace is lost while the process is frozen.
    way.faults.extend(["answer lost", "pass"] * ROUNDS)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, way.url, tag],
        cwd=tmp_path,
        env={**os.environ, "SPOOR_SPOOL": str(tmp_path / "spool")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        for _ in range(ROUNDS):
            before = len(way.seen)
            process.stdin.write("now\n")
            process.stdin.flush()
            deadline = time.monotonic() + 30
            while len(way.seen) == before and time.monotonic() < deadline:
                time.sleep(0.001)
            process.send_signal(signal.SIGSTOP)
            time.sleep(1)
            process.send_signal(signal.SIGCONT)
            assert process.stdout.readline() == "recorded\n"
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert said.split() == [str(ROUNDS), "0", "0"]
    assert len(server.stored(tag)) == ROUNDS
