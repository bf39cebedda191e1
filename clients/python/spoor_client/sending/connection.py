"""Sends requests over one persistent connection to the server. A connection belongs to one thread."""

from __future__ import annotations

import codecs
import functools
import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .answers import Answer, NoAnswer

CONNECT_TIMEOUT = 10.0
ANSWER_TIMEOUT = 30.0
# The codec is looked up at import, and not by the first connection in a sender's thread: if a process is forked while a
# thread imports a module, the module's lock is never released in the new process.
codecs.lookup("idna")

#: Servers close idle connections, node after 5 s. A connection that may have been closed is not used.
MAX_IDLE = 4.0


@dataclass(frozen=True)
class Server:
    url: str
    key: str

    @property
    def obstacle(self) -> str | None:
        """Returns the reason why nothing can be sent to this server; None if there is no reason."""
        try:
            parts = urlsplit(self.url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or not self.url.isprintable():
            return f"the server's address must be like https://spoor.example.com, not {self.url!r}"
        if not self.key:
            return 'there is no API key: set SPOOR_API_KEY to a key of your project ("spoor key create" makes one)'
        is_valid = self.key.isascii() and self.key.isprintable() and " " not in self.key
        return None if is_valid else "the API key contains a space or another invalid character"


class _TimedReader(io.RawIOBase):
    """
    Reads until a deadline. A socket's own timeout restarts with each byte, so a server that sends one byte at a time
    could hold up a reader for hours.
    """

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket = connected
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the response took too long")
        self._socket.settimeout(left)
        return self._socket.recv_into(buffer)


class _TimedSocket:
    """The parts of a socket that a response needs."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._reader = _TimedReader(connected, deadline)

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(self._reader)


def _response(deadline: float, connected: socket.socket, **options: Any) -> http.client.HTTPResponse:
    timed: Any = _TimedSocket(connected, deadline)
    return http.client.HTTPResponse(timed, **options)


class Connection:
    def __init__(self, server: Server) -> None:
        parts = urlsplit(server.url)
        self._is_secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port
        self._prefix = parts.path.rstrip("/")
        self._authorization = f"Bearer {server.key}"
        self._kept: http.client.HTTPConnection | None = None
        self._used_at = 0.0
        #: Every request ends by this time.
        self.deadline = float("inf")

    def request(
        self, method: str, path: str, body: bytes | None = None, timeout: float | None = None
    ) -> Answer | NoAnswer:
        """
        Sends a request once. If a kept connection is closed before a response arrives, the server has closed it, and a
        new connection is tried. That is safe except for scores, whose ids the server assigns.
        """
        if timeout is None:
            timeout = min(ANSWER_TIMEOUT, max(self.deadline - time.monotonic(), 0.01))
        is_kept = self._kept is not None and time.monotonic() - self._used_at < MAX_IDLE
        if not is_kept:
            self.close()
        outcome = self._attempt(method, path, body, timeout)
        if is_kept and isinstance(outcome, NoAnswer) and not path.endswith("/scores"):
            outcome = self._attempt(method, path, body, timeout)
        return outcome

    def _attempt(self, method: str, path: str, body: bytes | None, timeout: float) -> Answer | NoAnswer:
        is_connected = False
        deadline = time.monotonic() + timeout
        try:
            if self._kept is None:
                self._kept = self._open(timeout)
            is_connected = True
            if self._kept.sock is not None:
                self._kept.sock.settimeout(timeout)
            self._kept.response_class = functools.partial(_response, deadline)  # type: ignore[assignment]
            self._kept.request(method, self._prefix + path, body, self._headers(body))
            response = self._kept.getresponse()
            content = response.read()
            self._used_at = time.monotonic()
            if response.will_close:
                self.close()
            return Answer(response.status, content, response.getheader("Retry-After"))
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return NoAnswer(f"{type(error).__name__}: {error}", is_connected)

    def _open(self, timeout: float) -> http.client.HTTPConnection:
        limit = min(timeout, CONNECT_TIMEOUT)
        if self._is_secure:
            context = ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=limit, context=context
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=limit)
        connection.connect()
        return connection

    def _headers(self, body: bytes | None) -> Mapping[str, str]:
        headers = {"Authorization": self._authorization, "Accept": "application/json"}
        return headers if body is None else {**headers, "Content-Type": "application/json"}

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None
