"""Recorded exchanges (test/fixtures/wires), and a server that answers with them."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[4] / "test" / "fixtures" / "wires"


def exchanges(wire: str) -> list[Any]:
    found: list[Any] = json.loads(FOLDER.joinpath(f"{wire}.json").read_text())
    return found


class WireServer:
    """Answers each request with the current exchange, in the framing of its wire."""

    def __init__(self, framing: str = "events") -> None:
        self.exchange: Any = {}
        self.framing = framing
        self.requests: list[Any] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                outer.answer(self)

            def log_message(self, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        exchange = self.exchange
        handler.close_connection = True
        handler.send_response(exchange.get("status", 200))
        if "body" in exchange:
            body = json.dumps(exchange["body"]).encode()
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return
        handler.send_header("content-type", "text/event-stream" if self.framing == "events" else "application/x-ndjson")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        after, pause = exchange.get("pause", (None, None))
        for number, text in enumerate(self._texts(exchange)):
            if number == after:
                pause.wait(10)
            data = text.encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if exchange.get("ending") != "cut":
            handler.wfile.write(b"0\r\n\r\n")

    def _texts(self, exchange: Any) -> list[str]:
        if "raw" in exchange:
            raw = exchange["raw"]
            return [raw] if isinstance(raw, str) else list(raw)
        texts = [self._frame(chunk) for chunk in exchange["chunks"]]
        is_done = self.framing == "events" and "ending" not in exchange and "type" not in exchange["chunks"][0]
        return [*texts, "data: [DONE]\n\n"] if is_done else texts

    def _frame(self, chunk: Any) -> str:
        if self.framing == "lines":
            return json.dumps(chunk) + "\n"
        name = f"event: {chunk['type']}\n" if isinstance(chunk, dict) and "type" in chunk else ""
        return f"{name}data: {json.dumps(chunk)}\n\n"


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def check(span: Any, expected: Any) -> None:
    """Compares a stored span with an exchange's expectation."""
    seen = {
        "output": without_nulls(span["output"]),
        "usage": without_nulls(span["usage"]) or None,
        "costUsd": span["costUsd"],
        "status": span["status"],
        "model": span["model"],
        "events": [event["name"] for event in span["events"]],
    }
    wanted = {name: without_nulls(value) for name, value in expected.items() if name != "attributes"}
    if seen["usage"] is not None:
        # The server completes a usage by counts of 0 and by the total.
        seen["usage"] = {name: count for name, count in seen["usage"].items() if name in (wanted.get("usage") or {})}
    assert {name: seen[name] for name in wanted} == wanted, span
    given = expected.get("attributes", {})
    assert {name: without_nulls(span["attributes"].get(name)) for name in given} == without_nulls(given)
