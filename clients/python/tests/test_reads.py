"""Reads follow cursors, and errors contain what the server reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spoor_client import Spoor, SpoorError
from tests.conftest import Server
from tests.faults import FaultyWay
from tools.make_types import make_types


def test_lists_follow_their_cursors(client: Spoor, tag: str) -> None:
    for number in range(7):
        with client.trace(f"t{number}", tags=[tag], session_id=tag) as trace:
            trace.score("number", number)
            if number == 3:
                trace.set_status("error")
    assert client.flush(20).is_complete
    page = client.traces.list(tag=tag, limit=3)
    assert (len(page["traces"]), page["pageSize"], page["prevCursor"]) == (3, 3, None)
    every = list(client.traces.all(tag=tag, limit=3))
    assert [trace["name"] for trace in every] == [f"t{number}" for number in range(6, -1, -1)]
    assert [trace["name"] for trace in client.traces.all(session_id=tag, status="error")] == ["t3"]
    with client.trace("run", tags=[tag]) as trace:
        trace.start_span("search", kind="tool").end()
    assert client.flush(20).is_complete
    assert [trace["name"] for trace in client.traces.all(tag=tag, runs_only=True)] == ["run"]
    assert len(client.traces.list(tag=tag, runs_only=False)["traces"]) == 8
    between = client.traces.list(tag=tag, start=every[4]["startedAt"], end=every[2]["startedAt"])
    assert [trace["name"] for trace in between["traces"]] == ["t4", "t3", "t2"]
    assert next(client.scores.all(name="number", limit=2))["name"] == "number"
    assert client.scores.list(name="number", limit=2)["pageSize"] == 2
    last = every[-1]["id"]
    (score,) = client.traces.scores(last)
    assert score["value"] == 0
    assert client.traces.patch_metadata(last, {"reviewed": True}) == {"reviewed": True}


def test_the_key_and_its_project(client: Spoor) -> None:
    assert "traces:read" in client.key()["scopes"]
    assert client.project()["traceCount"] >= 0


def test_errors_are_those_of_the_server(client: Spoor, server: Server) -> None:
    with pytest.raises(SpoorError, match="404 not_found") as missing:
        client.traces.get("0" * 32)
    assert (missing.value.status, missing.value.code) == (404, "not_found")
    assert missing.value.request_id
    with pytest.raises(SpoorError, match="sort"):
        client.traces.list(sort="best")  # type: ignore[arg-type]
    with pytest.raises(SpoorError, match="403 insufficient_scope"):
        client.traces.delete("0" * 32)
    with pytest.raises(SpoorError, match="403 insufficient_scope"):
        client.scores.delete("0" * 32, "0" * 16)
    with pytest.raises(SpoorError, match="401 invalid_api_key"):
        Spoor(server.url, "spoor_live_wrong", spool=False).traces.list()


def test_a_read_waits_if_the_server_is_briefly_unreachable(server: Server, way: FaultyWay) -> None:
    way.faults.extend(["lost", "503", "429"])
    assert Spoor(way.url, server.key, spool=False).key()["scopes"]
    assert len(way.seen) == 4


def test_a_possibly_completed_write_is_not_repeated(client: Spoor, server: Server, way: FaultyWay, tag: str) -> None:
    with client.trace("t", tags=[tag]) as trace:
        pass
    assert client.flush(20).is_complete
    way.faults.append("answer lost")
    with pytest.raises(SpoorError) as failed:
        Spoor(way.url, server.key, spool=False).traces.patch_metadata(trace.id, {"a": 1})
    assert failed.value.code == "no_answer"


def test_a_response_from_another_program_is_reported(server: Server, way: FaultyWay) -> None:
    way.always = "page"
    with pytest.raises(SpoorError, match="the response is not JSON"):
        Spoor(way.url, server.key, spool=False).traces.list()


def test_the_types_match_the_servers_document(openapi: Any) -> None:
    written = Path(__file__).parents[1].joinpath("spoor_client", "types.py").read_text()
    assert make_types(openapi) == written
