"""The examples do what they say."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from spoor import Spoor
from tests.conftest import Run, Server

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_server_whose_requests_are_part_of_the_callers_trace(server: Server, run: Run, client: Spoor) -> None:
    with client.trace("caller") as trace:
        headers = client.headers()
    program = """
import json, sys
sys.path.insert(0, sys.argv[1])
from server import app
environ = {"PATH_INFO": "/parcels", "HTTP_TRACEPARENT": sys.argv[2], "HTTP_X_USER": "u-1"}
print(b"".join(app(environ, lambda *_: None)).decode())
"""
    assert run(program, str(EXAMPLES), headers["traceparent"]).stdout == "You asked for /parcels\n"
    assert client.flush(20).is_complete
    spans = client.traces.get(trace.id)["spans"]
    assert [span["name"] for span in spans] == ["caller", "request", "reply"]
    assert spans[1]["output"] == "You asked for /parcels"


def test_a_worker_that_is_told_to_stop(server: Server, run: Run, client: Spoor) -> None:
    program = """
import os, signal, sys, threading
sys.path.insert(0, sys.argv[1])
import worker
for job in (1, 2, [sys.argv[2]], {"cannot": "be doubled"}):
    worker.jobs.put(job)
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGTERM)).start()
worker.main()
"""
    mark = uuid.uuid4().hex
    result = run(program, str(EXAMPLES), mark)
    assert result.returncode == 0, result.stderr
    assert "job {'cannot': 'be doubled'} failed" in result.stdout
    traces = client.traces.list(tag="worker", limit=4)["traces"]
    assert [trace["status"] for trace in traces] == ["error", "ok", "ok", "ok"]
    detail = client.traces.get(traces[1]["id"])
    assert detail["trace"]["output"] == [[mark, mark]] * 2
    assert len(detail["spans"]) == 2


def test_a_function_that_is_frozen_when_it_has_answered(server: Server, run: Run, client: Spoor) -> None:
    program = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import serverless
print(json.dumps(serverless.handler({"name": sys.argv[2]}, None)), flush=True)
os._exit(0)
"""
    mark = uuid.uuid4().hex
    assert json.loads(run(program, str(EXAMPLES), mark).stdout)["body"] == f"Hello, {mark}"
    (trace,) = client.traces.list(name="handler", limit=1)["traces"]
    assert client.traces.get(trace["id"])["trace"]["input"] == {"name": mark}


def test_a_notebook(server: Server, run: Run, client: Spoor) -> None:
    result = run(EXAMPLES.joinpath("notebook.py").read_text())
    assert result.returncode == 0, result.stderr
    (trace,) = client.traces.list(name="notebook", limit=1)["traces"]
    assert trace["scores"]["useful"]["value"] == 0.5
