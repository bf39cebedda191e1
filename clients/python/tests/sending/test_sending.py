"""Whatever goes wrong during sending, an accepted trace is stored once, or the result reports it with the reason."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spoor_client import Spoor, SpoorError
from spoor_client.sending import answers
from spoor_client.sending import sender as sending
from tests.conftest import Run, Server
from tests.faults import Fault, FaultyWay


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the delays between attempts."""
    monkeypatch.setattr(answers, "_FIRST_WAIT", 0.005)


def record(client: Spoor, tag: str, count: int, size: int = 100) -> list[str]:
    """Records traces with a span each. Returns their ids."""
    ids = []
    for number in range(count):
        with client.trace(f"t{number}", tags=[tag], input="x" * size) as trace:
            ids.append(trace.id)
            with trace.span("s", kind="tool"):
                pass
    return ids


def stored_ids(server: Server, tag: str) -> list[str]:
    return sorted(trace["id"] for trace in server.stored(tag))


FAULTS: list[Fault] = ["pass", "lost", "answer lost", "429", "503", "500", "page"]


@given(faults=st.lists(st.sampled_from(FAULTS), max_size=12), is_live=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_trace_is_stored_once_despite_lost_requests_and_responses(
    quick: None, server: Server, tmp_path_factory: pytest.TempPathFactory, faults: list[Fault], is_live: bool
) -> None:
    way = FaultyWay(server.url)
    way.faults.extend(faults)
    client = Spoor(way.url, server.key, spool=tmp_path_factory.mktemp("spool"))
    ids = {}
    for number in range(4):
        with client.trace(f"t{number}", live=is_live) as trace:
            with trace.span("a"), trace.span("b"):
                pass
            trace.score("s", number)
        ids[trace.id] = number
    deadline = time.monotonic() + 30
    while not (result := client.flush(1)).is_complete and time.monotonic() < deadline:
        pass
    client.leave(0)
    way.close()
    assert (result.sent, result.kept, result.lost) == (4, 0, [])
    for trace_id, number in ids.items():
        detail = Spoor(server.url, server.key, spool=False).traces.get(trace_id)
        assert len(detail["spans"]) == 2
        assert detail["trace"]["status"] == "ok"
        assert [score["value"] for score in detail["scores"]] == [number]


def test_a_response_that_says_to_wait_is_obeyed(server: Server, way: FaultyWay, tag: str) -> None:
    way.faults.extend(["429"] * 3)
    client = Spoor(way.url, server.key, spool=False)
    ids = record(client, tag, 20)
    result = client.flush(20)
    assert (result.sent, result.kept, result.lost_count) == (20, 0, 0)
    assert stored_ids(server, tag) == sorted(ids)


def test_if_the_server_is_unreachable_at_exit_everything_is_left_to_the_next_start(
    server: Server, way: FaultyWay, tag: str, tmp_path: Path
) -> None:
    way.always = "lost"
    client = Spoor(way.url, server.key, spool=tmp_path / "spool")
    ids = record(client, tag, 30)
    trace = client.start("unfinished", tags=[tag])
    client.score(ids[0], "late", 1)
    started = time.monotonic()
    client.leave(5)
    assert time.monotonic() - started < 3
    files = list((tmp_path / "spool").glob("*.spoor"))
    assert len(files) == 31
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    way.always = "pass"
    following = Spoor(way.url, server.key, spool=tmp_path / "spool")
    deadline = time.monotonic() + 20
    while list((tmp_path / "spool").rglob("*.spoor")) and time.monotonic() < deadline:
        following.flush(1)
    assert stored_ids(server, tag) == sorted([*ids, trace.id])
    assert [score["name"] for score in following.traces.scores(ids[0])] == ["late"]
    following.leave(0)
    client.leave(0)


def test_a_closed_client_takes_nothing_more_from_the_spool(
    server: Server, tag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_LOOK_SECONDS", 0.001)
    for _ in range(10):
        closed = Spoor("http://127.0.0.1:9", server.key, spool=tmp_path)
        record(closed, tag, 1)
        closed.close(0)
        closed._sender.wake()
    time.sleep(0.1)
    assert len(list(tmp_path.glob("*.spoor"))) == 10


def test_traces_left_by_a_killed_process_are_sent_by_the_next(
    server: Server, run: Run, tag: str, tmp_path: Path
) -> None:
    killed = run(
        """
import os, signal, sys
import spoor_client as spoor
spoor.configure("http://127.0.0.1:9", spool_each=True)
for number in range(20):
    with spoor.trace("t", tags=[sys.argv[1]]):
        pass
os.kill(os.getpid(), signal.SIGKILL)
""",
        tag,
    )
    assert killed.returncode == -9
    assert len(list((tmp_path / ".spoor").rglob("*.spoor"))) == 20
    client = Spoor(server.url, server.key, spool=tmp_path / ".spoor")
    deadline = time.monotonic() + 20
    while client.flush(1).sent < 20 and time.monotonic() < deadline:
        pass
    assert len(server.stored(tag)) == 20
    client.leave(0)
    assert list((tmp_path / ".spoor").rglob("*")) == []


def test_a_rejected_key_keeps_everything_and_is_reported_once(
    server: Server, way: FaultyWay, tag: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    way.always = "401"
    problems: list[str] = []
    client = Spoor(way.url, server.key, spool=tmp_path / "spool", on_problem=problems.append)
    with caplog.at_level(logging.WARNING, "spoor_client"):
        ids = record(client, tag, 10)
        result = client.flush(5)
        record(client, tag, 1)
        client.flush(0.1)
        # A sending thread may have begun to report the problem, and then `flush` does not wait for it.
        deadline = time.monotonic() + 20
        while problems == [] and time.monotonic() < deadline:
            time.sleep(0.02)
    assert (result.sent, result.kept, result.lost_count) == (0, 10, 0)
    assert len(way.seen) <= sending.MAX_IN_FLIGHT
    assert sum("key is rejected" in problem for problem in problems) == 1
    assert [record.message for record in caplog.records] == [f"spoor: {problem}" for problem in problems]
    client.leave(1)
    assert len(list((tmp_path / "spool").glob("*.spoor"))) == 11
    assert ids


def test_a_conflicting_trace_is_lost_and_reported_with_its_digest(server: Server, client: Spoor) -> None:
    first = client.start("one")
    first.end()
    second = client.start("two")
    second.id = first.id
    second.end()
    result = client.flush(20)
    assert result.sent == 1
    (lost,) = result.lost
    assert lost.trace_id == first.id
    assert "trace_id_conflict" in lost.reason and "SHA-256" in lost.reason


@pytest.mark.parametrize("form", ["whole", "live", "joined"])
def test_a_proxy_with_a_lower_limit_gets_more_requests_and_only_a_span_that_is_too_large_is_cut(
    server: Server, way: FaultyWay, form: str
) -> None:
    way.most_bytes = 60_000
    client = Spoor(way.url, server.key, spool=False)
    with client.trace("large", input="i" * 20_000, metadata={"m": 1}, live=form == "live") as trace:
        assert form != "joined" or trace.traceparent
        for number in range(20):
            with trace.span(f"s{number}", input="x" * 20_000):
                pass
        with trace.span("too large", input="x" * 200_000):
            pass
        trace.set_output("o" * 20_000)
    result = client.flush(20)
    assert (result.sent, result.kept, result.lost) == (1, 0, [])
    assert result.problems == ["a request was rejected as too large, and is sent in smaller ones"]
    detail = Spoor(server.url, server.key, spool=False).traces.get(trace.id)
    spans = {span["name"]: span for span in detail["spans"]}
    assert (detail["trace"]["status"], len(spans)) == ("ok", 22 if form == "joined" else 21)
    assert (detail["trace"]["input"], detail["trace"]["output"]) == ("i" * 20_000, "o" * 20_000)
    assert detail["trace"]["metadata"] == {"m": 1}
    assert all(spans[f"s{number}"]["input"] == "x" * 20_000 for number in range(20))
    assert spans["too large"]["input"].endswith(" characters]")
    assert spans["too large"]["attributes"]["spoor.cut"] > 0
    assert len(spans["too large"]["input"]) > 20_000


@pytest.mark.parametrize("form", ["whole", "joined"])
def test_traces_sent_in_smaller_requests_can_be_resent(
    server: Server, way: FaultyWay, tmp_path: Path, form: str
) -> None:
    way.most_bytes = 60_000
    first = Spoor("http://127.0.0.1:9", server.key, spool=tmp_path)
    with first.trace("twice", input="i" * 20_000) as trace:
        assert form != "joined" or trace.traceparent
        for number in range(10):
            with trace.span(f"s{number}", input="x" * (20_000 if number else 100_000)):
                pass
    first.close(0)
    (file,) = tmp_path.glob("*.spoor")
    kept = file.read_bytes()
    for _ in range(2):
        # This is the state after a process was killed between sending everything and removing the file.
        file.write_bytes(kept)
        again = Spoor(way.url, server.key, spool=tmp_path)
        deadline = time.monotonic() + 20
        while list(tmp_path.rglob("*.spoor")) and time.monotonic() < deadline:
            again.flush(1)
        result = again.close()
        assert (result.sent, result.kept, result.lost) == (1, 0, [])
        detail = again.traces.get(trace.id)
        assert (detail["trace"]["status"], len(detail["spans"])) == ("ok", 11 if form == "joined" else 10)


def test_a_trace_that_is_too_large_even_when_cut_is_lost_and_reported(server: Server, way: FaultyWay, tag: str) -> None:
    way.most_bytes = 100
    client = Spoor(way.url, server.key, spool=False)
    record(client, tag, 1, size=50_000)
    with client.trace("joined") as joined:
        assert joined.traceparent
        joined.set_output("o" * 50_000)
    result = client.flush(20)
    assert (result.sent, result.kept) == (0, 0)
    assert [lost.reason.split(":")[0] for lost in result.lost] == ["start", "otlp"]


def test_traces_beyond_the_memory_limit_are_spooled_and_traces_beyond_both_limits_are_lost(
    server: Server, way: FaultyWay, tag: str, tmp_path: Path
) -> None:
    way.always = "lost"
    client = Spoor(way.url, server.key, spool=tmp_path / "spool", memory_bytes=100_000, spool_bytes=200_000)
    ids = record(client, tag, 50, size=10_000)
    result = client.flush(0)
    assert 0 < result.lost_count < 30
    assert result.lost_count + result.kept == 50
    assert all("memory is full" in lost.reason and "spool is full" in lost.reason for lost in result.lost)
    way.always = "pass"
    result = client.flush(30)
    assert result.sent == 50 - result.lost_count
    assert stored_ids(server, tag) == sorted(set(ids) - {lost.trace_id for lost in result.lost})


def test_a_spool_that_cannot_be_written_is_reported_and_traces_stay_in_memory(
    server: Server, way: FaultyWay, tag: str
) -> None:
    way.always = "lost"
    problems: list[str] = []
    client = Spoor(way.url, server.key, spool="/dev/full/spool", spool_each=True, on_problem=problems.append)
    ids = record(client, tag, 5)
    assert any("the spool cannot be written" in problem for problem in problems)
    way.always = "pass"
    assert client.flush(20).sent == 5
    assert stored_ids(server, tag) == sorted(ids)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        (
            {"SPOOR_API_KEY": ""},
            'there is no API key: set SPOOR_API_KEY to a key of your project ("spoor key create" makes one)',
        ),
        ({"SPOOR_API_KEY": "a key\n with more"}, "the API key contains a space or another invalid character"),
        (
            {"SPOOR_URL": "spoor.example.com"},
            "the server's address must be like https://spoor.example.com, not 'spoor.example.com'",
        ),
        ({"SPOOR_URL": "ftp://x"}, "the server's address must be like https://spoor.example.com, not 'ftp://x'"),
        (
            {"SPOOR_URL": "http://x:port"},
            "the server's address must be like https://spoor.example.com, not 'http://x:port'",
        ),
        ({"SPOOR_URL": "http://[x"}, "the server's address must be like https://spoor.example.com, not 'http://[x'"),
    ],
)
def test_if_nothing_can_be_sent_nothing_fails_and_the_result_gives_the_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variables: dict[str, str], reason: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    client = Spoor()
    with client.trace("t"):
        client.span("s").end()
    with client.trace("t"):
        pass
    result = client.flush()
    assert result.lost_count == 2
    assert result.lost[0].reason == f"record: {reason}"
    assert result.problems == [f"nothing is recorded: {reason}"]
    assert len(caplog.records) == 1
    with pytest.raises(SpoorError, match=r"address|key"):
        client.traces.list()


def test_with_a_wrong_path_in_the_address_traces_are_kept(server: Server, tmp_path: Path, tag: str) -> None:
    problems: list[str] = []
    wrong = Spoor(f"{server.url}/app", server.key, spool=tmp_path, on_problem=problems.append)
    ids = record(wrong, tag, 1)
    assert wrong.close().kept == 0
    assert problems[0].startswith(f"1 unsent trace is kept in {tmp_path} and will be sent by the next process")
    assert "/app: there is no spoor API below this address: 405 method_not_allowed" in problems[0]
    right = Spoor(server.url, server.key, spool=tmp_path)
    record(right, tag, 1)
    deadline = time.monotonic() + 20
    while ids[0] not in stored_ids(server, tag) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert ids[0] in stored_ids(server, tag)
    right.close()


def test_without_a_spool_the_end_of_a_process_reports_each_loss_once(tag: str) -> None:
    problems: list[str] = []
    client = Spoor("http://127.0.0.1:9", "key", spool=False, on_problem=problems.append)
    ids = record(client, tag, 1)
    client.leave(0.1)
    assert problems == [f"trace {ids[0]} (t0) is lost: the process ended before it was sent, and there is no spool"]


def test_a_score_whose_response_was_lost_is_not_stored_twice(server: Server, way: FaultyWay, tag: str) -> None:
    client = Spoor(way.url, server.key, spool=False)
    (trace_id,) = record(client, tag, 1)
    assert client.flush(20).sent == 1
    client.score(trace_id, "s", 1)
    assert client.flush(20).kept == 0
    way.faults.extend(["answer lost"])
    client.score(trace_id, "s", 1)
    assert client.flush(20).kept == 0
    assert [score["value"] for score in client.traces.scores(trace_id)] == [1, 1]


def test_a_score_can_arrive_before_its_trace(server: Server, client: Spoor, tag: str) -> None:
    trace = client.start("late", tags=[tag])
    other = Spoor(server.url, server.key, spool=False)
    other.score(trace.id.upper(), "early", True)
    assert other.flush(0.3).kept == 1
    trace.end()
    assert client.flush(20).sent == 1
    assert other.flush(20).kept == 0
    assert [score["name"] for score in client.traces.scores(trace.id)] == ["early"]


def test_the_application_never_waits_for_a_server_that_hangs(server: Server, tag: str) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        client = Spoor(f"http://127.0.0.1:{listening.getsockname()[1]}", server.key, spool=False)
        started = time.monotonic()
        record(client, tag, 100)
        assert time.monotonic() - started < 1
        assert client.flush(0.1).kept == 100
        client.leave(0)


def test_the_end_of_each_trace_waits_until_it_is_sent_but_not_for_an_unreachable_server(
    server: Server, way: FaultyWay, tag: str
) -> None:
    client = Spoor(way.url, server.key, spool=False, flush_each=True)
    record(client, tag, 1)
    assert len(server.stored(tag)) == 1
    way.always = "lost"
    started = time.monotonic()
    record(client, tag, 3)
    assert time.monotonic() - started < 3
    way.always = "pass"
    record(client, tag, 1)
    assert len(server.stored(tag)) == 5


def test_many_threads_record_concurrently(server: Server, client: Spoor, tag: str) -> None:
    threads = [threading.Thread(target=record, args=(client, tag, 25)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.flush(30).sent == 200
    assert len(stored_ids(server, tag)) == len(set(stored_ids(server, tag))) == 200


def test_two_processes_sharing_a_spool_send_each_trace_once(server: Server, run: Run, tag: str, tmp_path: Path) -> None:
    program = """
import sys
import spoor_client as spoor
spoor.configure(sys.argv[2] or None, spool="shared")
for number in range(40):
    with spoor.trace("t", tags=[sys.argv[1]]):
        pass
print(json.dumps(spoor.flush(10).sent)) if (json := __import__("json")) and not sys.argv[2] else None
"""
    for _ in range(2):
        assert run(program, tag, "http://127.0.0.1:9").returncode == 0
    assert len(list((tmp_path / "shared").glob("*.spoor"))) == 80
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(run(program, tag, ""))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent = [json.loads(result.stdout) for result in results]
    # Each trace was sent by one of the processes.
    assert sum(sent) == 160
    assert len(server.stored(tag)) == 160
    assert os.listdir(tmp_path / "shared") == []
