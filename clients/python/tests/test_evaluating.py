"""Evaluators judge each trace once."""

from __future__ import annotations

import threading
from typing import Any

from spoor import Spoor, Verdict


def test_each_trace_is_judged_once_and_what_fails_again_by_the_next_run(client: Spoor, tag: str) -> None:
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
    assert (first.judged, first.passed_over, first.failed) == (10, 2, 1)
    assert first.mean == 0.5
    assert list(first.errors.values()) == ["ValueError('no idea')"]
    is_broken = False
    second = client.evaluate(judge, name="even", tag=tag)
    assert (second.judged, second.passed_over, second.failed) == (1, 12, 0)
    judged = {
        trace["name"]: trace["scores"]["even"]["value"] for trace in client.traces.all(tag=tag) if trace["scores"]
    }
    assert judged == {f"t{number}": number % 2 == 0 for number in range(12) if number != 4}
    (score,) = client.scores.of(first_id := next(iter(first.errors)))
    assert first_id and (score["comment"], score["source"]) == ("3 is judged", "api")
    running.end()
