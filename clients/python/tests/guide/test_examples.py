"""Runs the guide's examples (plugins/docs/examples). test/libraries runs the LangGraph example."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import runpy
import uuid
from pathlib import Path
from typing import Any

import spoor_client as spoor
from spoor_client import Spoor
from tests.conftest import Run, Server

EXAMPLES = Path(__file__).parents[4] / "plugins" / "docs" / "examples"
IMPORT = "import json, os, signal, sys, threading; sys.path.insert(0, sys.argv[1])\n"


def test_a_server_whose_requests_are_part_of_the_callers_trace(server: Server, run: Run, client: Spoor) -> None:
    with client.trace("caller") as trace:
        headers = client.headers()
    program = """
import io
from server import app

def post(path, body, **headers):
    body = json.dumps(body).encode()
    environ = {"PATH_INFO": path, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), **headers}
    statuses = []
    reply = b"".join(app(environ, lambda status, _: statuses.append(status)))
    return statuses[0], json.loads(reply)

status, reply = post("/questions", {"question": "Where is it?"}, HTTP_TRACEPARENT=sys.argv[2], HTTP_X_USER="u-1")
assert (status, reply["text"]) == ("200 OK", "You asked: Where is it?")
assert post("/feedback/" + reply["traceId"], {"helpful": True, "comment": "thanks"})[0] == "202 Accepted"
assert post("/questions", {"question": ""}) == ("500 Internal Server Error", {"error": "there is no question"})
"""
    result = run(IMPORT + program, str(EXAMPLES), headers["traceparent"])
    assert result.returncode == 0, result.stderr
    assert client.flush(20).is_complete
    detail = client.traces.get(trace.id)
    assert [span["name"] for span in detail["spans"]] == ["caller", "question", "answer"]
    assert detail["spans"][1]["output"] == "You asked: Where is it?"
    assert [(score["name"], score["value"], score["comment"]) for score in detail["scores"]] == [
        ("helpful", True, "thanks")
    ]
    (failed,) = client.traces.list(name="question", status="error", limit=1)["traces"]
    assert failed["spanCount"] == 1


def test_a_worker_that_is_told_to_stop(server: Server, run: Run, client: Spoor) -> None:
    program = """
import spoor_client as spoor, worker
with spoor.trace("caller", tags=["calls-worker"]):
    worker.submit("1", sys.argv[2] + ". And more.")
worker.submit("2", "")
worker.submit("3", "One. Two.")
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGTERM)).start()
worker.main()
"""
    mark = uuid.uuid4().hex
    result = run(IMPORT + program, str(EXAMPLES), mark)
    assert result.returncode == 0, result.stderr
    assert "failed: 2: there is nothing to summarise" in result.stdout
    traces = client.traces.list(tag="worker", limit=2)["traces"]
    assert sorted(trace["status"] for trace in traces) == ["error", "ok"]
    (caller,) = client.traces.list(tag="calls-worker", limit=1)["traces"]
    spans = client.traces.get(caller["id"])["spans"]
    assert [(span["name"], span["output"]) for span in spans[1:]] == [("job", f"{mark}."), ("summarise", f"{mark}.")]


def test_a_function_that_is_frozen_after_its_response(server: Server, run: Run, client: Spoor) -> None:
    program = """
import serverless
print(json.dumps(serverless.handler({"name": sys.argv[2]}, None)), flush=True)
os._exit(0)
"""
    mark = uuid.uuid4().hex
    assert json.loads(run(IMPORT + program, str(EXAMPLES), mark).stdout)["body"] == f"Hello, {mark}"
    (trace,) = client.traces.list(name="handler", limit=1)["traces"]
    assert client.traces.get(trace["id"])["trace"]["input"] == {"name": mark}


def test_a_notebook_cell_by_cell(server: Server, client: Spoor) -> None:
    """Runs each cell of the notebook separately, with the variables of the previous cells."""
    cells = EXAMPLES.joinpath("notebook.py").read_text().split("# %%")[1:]
    code = [cell for cell in cells if not cell.startswith(" [markdown]")]
    assert len(cells) - len(code) == 2
    spoor.configure(spool=False)
    left: dict[str, Any] = {}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for cell in code[:-1]:
            exec(cell, left)
        last = eval(compile(code[-1].strip().partition("\n")[2], "last cell", "eval"), left)
    assert last in ([("model", "On its way.")], [("model", "I do not know.")])
    assert sorted(line.split()[-1] for line in said.getvalue().splitlines()) == ["False", "True"]
    traces = client.traces.list(session_id=left["experiment"])["traces"]
    assert [trace["tags"] for trace in traces] == [["notebook"]] * 2


def test_asgi_middleware(server: Server, client: Spoor) -> None:
    spoor.configure(spool=False)
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        with spoor.span("stream"):
            for part in (b"one", b"two"):
                await asyncio.sleep(0)
                await send({"type": "http.response.body", "body": part, "more_body": True})

    async def receive() -> None: ...

    async def send(message: Any) -> None:
        sent.append(message)

    with client.trace("caller") as trace:
        headers = [(name.encode(), value.encode()) for name, value in client.headers().items()]
    traced = runpy.run_path(str(EXAMPLES / "asgi.py"))["Traced"](app)
    scope = {"type": "http", "path": "/stream", "headers": headers}
    asyncio.run(traced(scope, receive, send))
    asyncio.run(traced({"type": "lifespan"}, receive, send))
    assert (b"x-trace-id", trace.id.encode()) in sent[0]["headers"]
    assert spoor.flush(20).is_complete and client.flush(20).is_complete
    spans = client.traces.get(trace.id)["spans"]
    assert [span["name"] for span in spans] == ["caller", "request", "stream"]
