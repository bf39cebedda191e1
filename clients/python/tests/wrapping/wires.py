"""Recorded exchanges (test/fixtures/wires), and a server that answers with them."""

from __future__ import annotations

import importlib
import json
import struct
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[4] / "test" / "fixtures" / "wires"


def exchanges(wire: str) -> list[Any]:
    found: list[Any] = json.loads(FOLDER.joinpath(f"{wire}.json").read_text())
    return found


def mistral_client(url: str) -> Any:
    """Returns a Mistral client. Before version 2, the library exports its class from the package itself."""
    package = importlib.import_module("mistralai")
    module = package if hasattr(package, "Mistral") else importlib.import_module("mistralai.client")
    return module.Mistral(api_key="none", server_url=url)


def _event(chunk: Any) -> bytes:
    name = f"event: {chunk['type']}\n" if isinstance(chunk, dict) and "type" in chunk else ""
    return f"{name}data: {json.dumps(chunk)}\n\n".encode()


def _line(chunk: Any) -> bytes:
    return json.dumps(chunk).encode() + b"\n"


def _message(chunk: Any) -> bytes:
    """A message of Amazon's event streams (application/vnd.amazon.eventstream)."""
    ((name, payload),) = chunk.items()
    is_exception = name.endswith("Exception")
    headers = {
        ":exception-type" if is_exception else ":event-type": name,
        ":content-type": "application/json",
        ":message-type": "exception" if is_exception else "event",
    }
    head = b"".join(
        struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(text)) + text.encode()
        for key, text in headers.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", len(head) + len(body) + 16, len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + body
    return message + struct.pack("!I", zlib.crc32(message))


@dataclass(frozen=True)
class Framing:
    content_type: str
    frame: Callable[[Any], bytes]
    closing: bytes = b""


EVENTS = Framing("text/event-stream", _event)
CLOSED_EVENTS = Framing("text/event-stream", _event, b"data: [DONE]\n\n")
LINES = Framing("application/x-ndjson", _line)
MESSAGES = Framing("application/vnd.amazon.eventstream", _message)


class WireServer:
    """Answers each request with the current exchange, in the framing of its wire."""

    def __init__(self, framing: Framing = CLOSED_EVENTS) -> None:
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
        handler.send_response(exchange.get("status", 200))
        # Without this header, a library could send its next request on the connection that is about to be closed.
        handler.send_header("connection", "close")
        if "body" in exchange:
            body = json.dumps(exchange["body"]).encode()
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return
        handler.send_header("content-type", self.framing.content_type)
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        after, pause = exchange.get("pause", (None, None))
        for number, data in enumerate(self._pieces(exchange)):
            if number == after:
                pause.wait(10)
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if exchange.get("ending") != "cut":
            handler.wfile.write(b"0\r\n\r\n")

    def _pieces(self, exchange: Any) -> list[bytes]:
        if "raw" in exchange:
            return [text.encode() for text in exchange["raw"]]
        pieces = [self.framing.frame(chunk) for chunk in exchange["chunks"]]
        return [*pieces, self.framing.closing] if self.framing.closing and "ending" not in exchange else pieces


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
