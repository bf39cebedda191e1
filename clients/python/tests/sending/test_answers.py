"""Tests how the client proceeds after each response of the server."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor_client.sending.answers import MAX_WAIT, Answer, Do, NoAnswer, backoff, judge
from spoor_client.sending.delivery import PartKind
from spoor_client.sending.scores import count_equal, score_body

OK = b'{"ok":true}'


def error(code: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": "m", "requestId": "r"}}).encode()


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("record", Answer(201, OK), Do.DONE),
        ("record", Answer(200, b'{"ok":true,"duplicate":true}'), Do.DONE),
        ("otlp", Answer(200, b"{}"), Do.DONE),
        ("otlp", Answer(200, b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"m"}}'), Do.DROP),
        # The response comes from a captive portal or a proxy.
        ("record", Answer(200, b"<html>"), Do.WAIT),
        ("record", Answer(200, b"{}"), Do.WAIT),
        ("record", Answer(302), Do.WAIT),
        ("record", Answer(404, b"no such page"), Do.WAIT),
        # The server's address has a wrong path, such as that of the dashboard.
        ("record", Answer(404, error("not_found")), Do.WAIT),
        ("start", Answer(405, error("method_not_allowed")), Do.WAIT),
        ("otlp", Answer(404, error("not_found")), Do.WAIT),
        ("record", NoAnswer("refused", False), Do.WAIT),
        ("record", Answer(429, error("quota_exhausted")), Do.WAIT),
        ("record", Answer(503, b""), Do.WAIT),
        ("record", Answer(500, b"<html>"), Do.WAIT),
        ("record", Answer(500, error("internal_error")), Do.LATER),
        ("record", Answer(401, error("invalid_api_key")), Do.STOP),
        ("record", Answer(403, error("insufficient_scope")), Do.STOP),
        ("record", Answer(403, error("trial_limit_reached")), Do.STOP),
        # The trace's environment no longer belongs to this key. Other traces need not wait for it.
        ("spans", Answer(403, error("forbidden")), Do.DROP),
        ("record", Answer(400, error("invalid_trace")), Do.DROP),
        ("record", Answer(409, error("trace_id_conflict")), Do.DROP),
        ("end", Answer(409, error("trace_finished")), Do.DROP),
        ("spans", Answer(409, error("trace_finished")), Do.DOUBT),
        ("record", Answer(413, error("payload_too_large")), Do.DIVIDE),
        ("record", Answer(413, b"<html>"), Do.DIVIDE),
        ("otlp", Answer(413, b"<html>"), Do.DIVIDE),
        ("score", Answer(413, error("payload_too_large")), Do.DROP),
        ("score", Answer(404, error("not_found")), Do.LATER),
        ("spans", Answer(404, error("not_found")), Do.DROP),
    ],
)
def test_each_response_has_one_meaning(kind: PartKind, answer: Answer | NoAnswer, expected: Do) -> None:
    assert judge(kind, answer).do is expected


def test_a_score_whose_trace_never_arrives_is_finally_given_up() -> None:
    assert judge("score", Answer(404, error("not_found")), tries=9).do is Do.DROP


def test_a_server_that_asks_for_time_gets_it() -> None:
    assert judge("record", Answer(429, error("quota_exhausted"), "7")).wait == 7
    assert judge("record", Answer(429, error("quota_exhausted"), "86400")).wait == 120
    assert judge("record", Answer(429, error("quota_exhausted"), "Wed, 21 Oct")).wait <= 0.2


@given(st.integers(0, 10_000))
def test_delays_grow_up_to_30_seconds(failures: int) -> None:
    longest = min(0.2 * 2 ** min(failures, 30), MAX_WAIT)
    assert longest / 2 <= backoff(failures) <= longest


def test_scores_are_compared_by_all_fields_that_the_client_sends() -> None:
    body = score_body("s", 1.0, "why", None)
    there = {"name": "s", "dataType": "numeric", "value": 1, "comment": "why", "spanId": None}
    answer = json.dumps({"scores": [there, {**there, "comment": None}, there]}).encode()
    assert count_equal(body, answer) == 2
    assert count_equal(body, b"<html>") is None
    with pytest.raises(ValueError, match="finite"):
        score_body("s", float("nan"), None, None)
    with pytest.raises(ValueError, match="not list"):
        score_body("s", [], None, None)  # type: ignore[arg-type]
