"""This client sends what the TypeScript client left in a spool, and vice versa, each trace once."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from spoor_client import Spoor
from tests.conftest import Server

CLIENT = str(Path(__file__).parents[4] / "build" / "clients" / "typescript" / "index.js")
NOWHERE = "http://127.0.0.1:9"

#: Records a trace of each form, and a score of an existing trace. Prints the ids of the traces.
RECORD = """
const { Spoor } = await import(process.argv[1])
const [, , url, key, spool, tag, scored, times] = process.argv
const spoor = new Spoor({ url, key, spool, onProblem() {} })
for (let i = 0; i < Number(times); i++) {
  for (const form of ['whole', 'live', 'joined']) {
    const trace = spoor.start(`é "${form}"`, { live: form === 'live', tags: [tag], input: 'ü\\n' })
    if (form === 'joined') trace.traceparent
    trace.setMetadata({ plan: [1, 'ß'] }).setUsage({ inputTokens: 7 })
    const step = trace.startSpan('step', { kind: 'tool', attributes: { share: 0.5, city: 'Zürich' } })
    step.addEvent('seen', { by: 'é' }).end({ output: 0.1 })
    trace.score('good', true)
    trace.end({ status: 'ok' })
    console.log(trace.traceId)
  }
}
spoor.score(scored, 'later', 0.5, { comment: 'ß' })
process.exit()
"""
SEND = """
const { Spoor } = await import(process.argv[1])
const [, , url, key, spool] = process.argv
const spoor = new Spoor({ url, key, spool })
for (let rounds = 0; rounds < 3 || (await spoor.flush()).kept > 0; rounds++) await spoor.adopt()
console.log(JSON.stringify(await spoor.close()))
"""


def node(program: str, *parameters: str) -> list[str]:
    command = ["node", "--input-type=module", "-e", program, CLIENT, *parameters]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def record(spool: Path, key: str, tag: str, scored: str, times: int, later: float) -> list[str]:
    """Does the same in Python."""
    client = Spoor(NOWHERE, key, spool=spool)
    ids = []
    for _ in range(times):
        for form in ("whole", "live", "joined"):
            trace = client.start(f'é "{form}"', live=form == "live", tags=[tag], input="ü\n")
            assert form != "joined" or trace.traceparent
            trace.set_metadata({"plan": [1, "ß"]})
            trace.set_usage(input_tokens=7)
            step = trace.start_span("step", kind="tool", attributes={"share": 0.5, "city": "Zürich"})
            step.add_event("seen", {"by": "é"})
            step.end(output=0.1)
            trace.score("good", True)
            trace.end(status="ok")
            ids.append(trace.id)
    client.score(scored, "later", later, "ß")
    client.close(0)
    return ids


def send(spool: Path, server: Server) -> Any:
    client = Spoor(server.url, server.key, spool=spool)
    deadline = time.monotonic() + 60
    while list(spool.rglob("*.spoor")) and time.monotonic() < deadline:
        client.flush(1)
    return client.close()


@pytest.fixture
def scored(client: Spoor) -> str:
    trace = client.start("scored")
    trace.end()
    assert client.flush(20).sent == 1
    return trace.id


def check(client: Spoor, ids: list[str], tag: str, scored: str) -> None:
    assert sorted(trace["id"] for trace in client.traces.all(tag=tag)) == sorted(ids)
    for trace_id in ids:
        detail = client.traces.get(trace_id)
        form = detail["trace"]["name"].split('"')[1]
        assert (detail["trace"]["name"], detail["trace"]["status"]) == (f'é "{form}"', "ok")
        assert detail["trace"]["input"] == "ü\n"
        assert len(detail["spans"]) == (2 if form == "joined" else 1)
        assert (detail["trace"]["metadata"] or {}).get("plan") == [1, "ß"]
        assert (detail["trace"]["usage"] or {}).get("inputTokens") == 7
        (step,) = [span for span in detail["spans"] if span["name"] == "step"]
        assert (step["output"], step["attributes"]["share"], step["attributes"]["city"]) == (0.1, 0.5, "Zürich")
        assert [(event["name"], (event["attributes"] or {})["by"]) for event in step["events"]] == [("seen", "é")]
        assert [score["value"] for score in client.traces.scores(trace_id)] == [True]
    assert {score["comment"] for score in client.traces.scores(scored)} == {"ß"}


@pytest.mark.parametrize("way", ["from TypeScript", "from Python"])
def test_traces_spooled_by_one_client_the_other_sends_once(
    server: Server, client: Spoor, tmp_path: Path, tag: str, scored: str, way: str
) -> None:
    spool = tmp_path / "exchanged"
    if way == "from TypeScript":
        ids = node(RECORD, NOWHERE, server.key, str(spool), tag, scored, "1")
        assert len(list(spool.glob("*.spoor"))) == 4
        result = send(spool, server)
        assert (result.sent, result.kept, result.lost) == (3, 0, [])
    else:
        ids = record(spool, server.key, tag, scored, 1, 0.5)
        assert len(list(spool.glob("*.spoor"))) == 4
        (said,) = node(SEND, server.url, server.key, str(spool))
        assert [json.loads(said)[name] for name in ("sent", "kept", "lostCount")] == [3, 0, 0]
    assert os.listdir(spool) == []
    check(client, ids, tag, scored)
    assert [score["value"] for score in client.traces.scores(scored)] == [0.5]


@pytest.mark.long
def test_both_clients_send_from_one_folder_concurrently(
    server: Server, client: Spoor, tmp_path: Path, tag: str, scored: str
) -> None:
    spool = tmp_path / "exchanged"
    # The client gives scores no id, so two equal scores could not be distinguished.
    ids = record(spool, server.key, tag, scored, 100, 0.25)
    ids += node(RECORD, NOWHERE, server.key, str(spool), tag, scored, "100")
    said: list[str] = []
    other = threading.Thread(target=lambda: said.extend(node(SEND, server.url, server.key, str(spool))))
    other.start()
    result = send(spool, server)
    other.join()
    assert result.sent + json.loads(said[0])["sent"] == len(ids) == 600
    assert os.listdir(spool) == []
    check(client, ids, tag, scored)
    assert sorted(score["value"] for score in client.traces.scores(scored)) == [0.25, 0.5]
