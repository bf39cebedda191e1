"""
Slow tests: the server is killed, unreachable or full, or the disk is full. `npm run test:python -- --long` runs them.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from spoor_client import Spoor
from tests.conftest import Run, Server
from tests.faults import FaultyWay
from tests.sending.test_sending import record, stored_ids

pytestmark = pytest.mark.long


def test_a_server_that_is_killed_during_a_thousand_traces(server: Server, client: Spoor, tag: str) -> None:
    ids: list[str] = []

    def keep_recording() -> None:
        for _ in range(250):
            ids.extend(record(client, tag, 1, size=2_000))
            time.sleep(0.01)

    threads = [threading.Thread(target=keep_recording) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        time.sleep(0.7)
        server.kill()
        time.sleep(0.5)
        server.start()
    for thread in threads:
        thread.join()
    result = client.flush(60)
    assert (result.sent, result.kept, result.lost_count) == (1_000, 0, 0)
    assert stored_ids(server, tag) == sorted(ids)
    assert all(trace["spanCount"] == 1 for trace in server.stored(tag))


def test_live_traces_of_a_server_that_is_killed(server: Server, client: Spoor, tag: str) -> None:
    traces = [client.start(f"t{number}", tags=[tag], live=True) for number in range(50)]
    for round in range(6):
        for trace in traces:
            trace.start_span(f"s{round}").end()
        time.sleep(0.7)
        if round == 2:
            server.kill()
        if round == 4:
            server.start()
    for trace in traces:
        trace.end(status="ok")
    result = client.flush(60)
    assert (result.sent, result.kept, result.lost_count) == (50, 0, 0)
    stored = server.stored(tag)
    assert [(trace["status"], trace["spanCount"]) for trace in stored] == [("ok", 6)] * 50


def test_a_server_that_is_unreachable_for_a_minute(server: Server, client: Spoor, tag: str, tmp_path: Path) -> None:
    ids = record(client, tag, 100)
    server.stop()
    try:
        ids += record(client, tag, 300)
        time.sleep(45)
        # The traces are on disk by now, and later traces are kept as well.
        assert len(list((tmp_path / "spool").rglob("*-*.spoor"))) >= 300
        ids += record(client, tag, 100)
        result = client.flush(1)
        assert result.lost_count == 0 and result.kept >= 400
        assert any("accepts nothing, and everything is kept" in problem for problem in result.problems)
        time.sleep(15)
    finally:
        server.start()
    result = client.flush(60)
    assert (result.sent, result.kept, result.lost_count) == (500, 0, 0)
    assert stored_ids(server, tag) == sorted(ids)
    assert list((tmp_path / "spool").rglob("*-*.spoor")) == []


def test_a_server_that_is_at_capacity_for_ten_seconds(server: Server, way: FaultyWay, tag: str, tmp_path: Path) -> None:
    way.always = "429"
    client = Spoor(way.url, server.key, spool=tmp_path / "spool")
    ids = record(client, tag, 200)
    time.sleep(10)
    asked = len(way.seen)
    way.always = "pass"
    assert client.flush(60).sent == 200
    assert stored_ids(server, tag) == sorted(ids)
    # The client did not flood the server with requests.
    assert asked < 40
    client.leave(0)


def test_a_full_disk(server: Server, run: Run, tag: str, tmp_path: Path) -> None:
    result = run(
        """
import resource, sys
import spoor_client as spoor
# Files may have no more than 50,000 bytes: what is larger fails in the middle, as on a disk that is full.
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
client = spoor.configure("http://127.0.0.1:9")
ids = []
for size in (1_000, 100_000, 1_000):
    with spoor.trace("t", tags=[sys.argv[1]], input="x" * size) as trace:
        ids.append(trace.id)
client.leave(1)
result = spoor.flush(0)
assert result.lost_count == 1, result
assert result.lost[0].trace_id == ids[1] and "could not be kept" in result.lost[0].reason, result
assert any("the spool cannot be written" in problem for problem in result.problems), result
""",
        tag,
    )
    assert result.returncode == 0, result.stderr
    assert len(list((tmp_path / ".spoor").rglob("*-*.spoor"))) == 2
    # No incomplete file is left.
    assert [file for file in tmp_path.rglob("*") if file.is_file() and file.suffix != ".spoor"] == []
    client = Spoor(server.url, server.key, spool=tmp_path / ".spoor")
    deadline = time.monotonic() + 20
    while client.flush(0.5).sent < 2 and time.monotonic() < deadline:
        pass
    assert len(stored_ids(server, tag)) == 2
    client.leave(0)


def test_a_key_that_is_accepted_again_is_noticed(
    server: Server, way: FaultyWay, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spoor_client.sending import answers

    monkeypatch.setattr(answers, "REFUSED_KEY_WAIT", 3.0)
    way.always = "401"
    client = Spoor(way.url, server.key, spool=False)
    record(client, tag, 5)
    assert client.flush(1).kept == 5
    way.always = "pass"
    deadline = time.monotonic() + 20
    while client.flush(0.5).kept and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(stored_ids(server, tag)) == 5
