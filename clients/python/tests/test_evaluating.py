"""Evaluators judge each trace once."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from spoor_client import Spoor, SpoorError, Verdict, evaluating, reads
from tests.conftest import Server
from tests.faults import FaultyWay


def test_each_trace_is_evaluated_once_and_failures_again_by_the_next_run(client: Spoor, tag: str) -> None:
    for number in range(12):
        with client.trace(f"t{number}", tags=[tag]) as trace:
            trace.set_output(number)
    running = client.start("running", tags=[tag], live=True)
    assert client.flush(20).sent == 12
    at_once: list[int] = []
    lock = threading.Lock()
    is_broken = True

    def judge(detail: Any) -> Any:
        number = detail["trace"]["output"]
        with lock:
            at_once.append(threading.active_count())
        if number == 3 and is_broken:
            raise ValueError("no idea")
        return None if number == 4 else Verdict(number % 2 == 0, f"{number} is judged")

    first = client.evaluate(judge, name="even", concurrency=3, tag=tag, limit=5)
    assert (first.judged, first.passed, first.failed) == (10, 1, 1)
    assert first.mean == 0.5
    assert list(first.failures.values()) == ["ValueError('no idea')"]
    is_broken = False
    second = client.evaluate(judge, name="even", tag=tag)
    assert (second.judged, second.passed, second.failed) == (1, 1, 0)
    judged = {
        trace["name"]: trace["scores"]["even"]["value"] for trace in client.traces.all(tag=tag) if trace["scores"]
    }
    assert judged == {f"t{number}": number % 2 == 0 for number in range(12) if number != 4}
    (score,) = client.traces.scores(first_id := next(iter(first.failures)))
    assert first_id and (score["comment"], score["source"]) == ("3 is judged", "api")
    running.end()


def test_following_evaluates_new_traces_once_until_it_is_stopped(
    server: Server, client: Spoor, way: FaultyWay, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(evaluating, "_PAUSE_FACTOR", 0)
    monkeypatch.setattr(reads, "_PATIENCE_SECONDS", 0)
    stop = threading.Event()
    asked: list[str] = []
    evaluator = Spoor(way.url, server.key, spool=False)

    def record(name: str, wait: int) -> None:
        with client.trace(name, tags=[tag]):
            pass
        assert client.flush(20).kept == 0
        deadline = time.monotonic() + 20
        while len(asked) < wait and time.monotonic() < deadline:
            time.sleep(0.01)
        # Other evaluations check meanwhile, and find nothing new.
        time.sleep(0.1)

    def judge(detail: Any) -> bool | None:
        asked.append(detail["trace"]["name"])
        return None if detail["trace"]["name"] == "no verdict" else True

    def record_all() -> None:
        record("first", 1)
        record("no verdict", 2)
        way.always = "503"
        refused = len(way.seen) + 2
        while len(way.seen) < refused:
            time.sleep(0.01)
        way.always = "pass"
        running = client.start("running", live=True, tags=[tag])
        record("last", 3)
        running.end()
        record("behind", 5)
        stop.set()

    recording = threading.Thread(target=record_all)
    recording.start()
    found = evaluator.evaluate(judge, name="good", tag=tag, follow=True, stop=stop)
    recording.join()
    assert sorted(asked) == ["behind", "first", "last", "no verdict", "running"]
    assert (found.judged, found.passed, found.failed) == (4, 1, 0)
    assert len(list(client.scores.all(name="good"))) >= 4
    assert any("evaluate tries again later" in problem for problem in evaluator.flush(5).problems)


def test_following_ends_if_the_server_would_return_the_same_again(client: Spoor) -> None:
    with pytest.raises(SpoorError, match="invalid"):
        client.evaluate(lambda _: True, name="good", follow=True, limit=-1)


def test_a_run_that_is_stopped_before_it_begins_evaluates_nothing(client: Spoor) -> None:
    stop = threading.Event()
    stop.set()
    assert client.evaluate(lambda _: True, name="good", stop=stop).judged == 0
