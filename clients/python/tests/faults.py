"""A relay to the server that causes the failures that a test requests, with real connections and real losses."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

#: The fate of a request: it passes, it is lost, its response is lost after execution, or it gets this response.
Fault = Literal["pass", "lost", "answer lost", "429", "503", "500", "page", "413", "401"]

_ANSWERS: dict[str, tuple[int, str]] = {
    "429": (429, "quota_exhausted"),
    "500": (500, "internal_error"),
    "401": (401, "invalid_api_key"),
}
_PAGES: dict[str, int] = {"503": 503, "page": 200, "413": 413}


class FaultyWay:
    def __init__(self, url: str) -> None:
        self.target = urlsplit(url)
        #: Faults for the next requests, in order. All later requests get the fault `always`.
        self.faults: deque[Fault] = deque()
        self.always: Fault = "pass"
        #: Larger bodies are rejected, as by a proxy.
        self.most_bytes: int | None = None
        #: Method and path of each request, and whether the request reached the server.
        self.seen: list[tuple[str, str, bool]] = []
        way = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without this, a response would wait for 40 ms.
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self) -> None:
                way.handle(self)

            do_GET = do_PATCH = do_POST

            def log_message(self, *_: Any) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        try:
            fault = self.faults.popleft()
        except IndexError:
            fault = self.always
        if self.most_bytes is not None and len(body) > self.most_bytes:
            fault = "413"
        passes = fault in ("pass", "answer lost")
        self.seen.append((request.command, request.path, passes))
        if fault in _ANSWERS:
            status, code = _ANSWERS[fault]
            error = {"error": {"code": code, "message": "as the test says", "requestId": "r"}}
            reply(request, status, json.dumps(error).encode())
        elif fault in _PAGES:
            reply(request, _PAGES[fault], b"<html>a page of somebody else</html>")
        elif passes:
            status, answer = self.pass_on(request, body)
            if fault == "pass":
                reply(request, status, answer)
        if fault in ("lost", "answer lost"):
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)

    def pass_on(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        assert self.target.hostname is not None
        connection = http.client.HTTPConnection(self.target.hostname, self.target.port, timeout=30)
        headers = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        connection.request(request.command, request.path, body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content


def reply(request: BaseHTTPRequestHandler, status: int, content: bytes) -> None:
    request.send_response(status)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)
