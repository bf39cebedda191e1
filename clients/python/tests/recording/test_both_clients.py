"""One trace of two services, one of which uses the TypeScript client."""

from __future__ import annotations

import json

from spoor_client import Spoor
from tests.conftest import Server
from tests.sending.test_exchange import node

CHILD = """
const { Spoor } = await import(process.argv[1])
const [, , url, key, traceparent] = process.argv
const spoor = new Spoor({ url, key, spool: false })
const trace = spoor.start('child', spoor.fromHeaders({ traceparent }))
trace.startSpan('step').end()
trace.end({ status: 'ok' })
await spoor.close()
"""
PARENT = """
const { Spoor } = await import(process.argv[1])
const [, , url, key] = process.argv
const spoor = new Spoor({ url, key, spool: false })
const trace = spoor.start('parent')
const step = trace.startSpan('call')
console.log(JSON.stringify({ id: trace.traceId, traceparent: step.traceparent }))
step.end()
trace.end({ status: 'ok' })
await spoor.close()
"""


def names(client: Spoor, trace_id: str) -> list[tuple[str, str | None]]:
    spans = client.traces.get(trace_id)["spans"]
    by_id = {span["id"]: span["name"] for span in spans}
    return sorted((span["name"], by_id.get(span["parentSpanId"] or "")) for span in spans)


def test_a_service_in_typescript_joins_a_trace_of_this_client(server: Server, client: Spoor) -> None:
    with client.trace("parent") as trace, client.span("call"):
        node(CHILD, server.url, server.key, client.headers()["traceparent"])
    assert client.flush(20).is_complete
    assert names(client, trace.id) == [("call", "parent"), ("child", "call"), ("parent", None), ("step", "child")]


def test_this_client_joins_a_trace_of_a_service_in_typescript(server: Server, client: Spoor) -> None:
    (line,) = node(PARENT, server.url, server.key)
    said = json.loads(line)
    with client.trace("child", parent=client.from_headers(said)), client.span("step"):
        pass
    assert client.flush(20).is_complete
    assert names(client, said["id"]) == [("call", "parent"), ("child", "call"), ("parent", None), ("step", "child")]
