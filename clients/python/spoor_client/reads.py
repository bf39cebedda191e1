"""Reads, and writes that the server answers at once: lists, single traces, scores, metadata, deletions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast
from urllib.parse import quote, urlencode

from .sending.answers import Answer, NoAnswer, backoff
from .sending.connection import Connection, Server
from .types import Score, ScoreList, TraceDetail, TraceList, TraceSummary

#: A read is retried for this long if the server is unreachable or busy.
_PATIENCE_SECONDS = 10.0
_AGAIN = frozenset((429, 502, 503, 504))

TraceStatus = Literal["ok", "error", "unset", "running"]
TraceSort = Literal["newest", "slowest", "costliest"]


class SpoorError(Exception):
    """Raised if the server rejects a request, or does not respond (`status` is then 0)."""

    def __init__(self, status: int, code: str, message: str, request_id: str = "") -> None:
        super().__init__(f"{status} {code}: {message}" if status else message)
        self.status = status
        self.code = code
        self.message = message
        self.request_id = request_id


class Reads:
    def __init__(self, server: Server | str) -> None:
        self._server = server

    def ask(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        if isinstance(self._server, str):
            raise SpoorError(0, "not_configured", self._server)
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{path}?{urlencode(given)}" if given else path
        content = None if body is None else json.dumps(body).encode()
        connection = Connection(self._server)
        try:
            outcome = _ask_patiently(connection, method, target, content)
        finally:
            connection.close()
        if isinstance(outcome, NoAnswer):
            raise SpoorError(0, "no_answer", f"{self._server.url}: {outcome.reason}")
        return _read(outcome)


def _ask_patiently(connection: Connection, method: str, target: str, content: bytes | None) -> Answer | NoAnswer:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    failures = 0
    while True:
        outcome = connection.request(method, target, content)
        is_away = isinstance(outcome, NoAnswer) or outcome.status in _AGAIN
        wait = backoff(failures)
        # A write that may have been executed is not repeated, because only the caller knows whether repeating it is
        # safe.
        may_repeat = method == "GET" or not (isinstance(outcome, NoAnswer) and outcome.may_be_taken)
        if not is_away or not may_repeat or time.monotonic() + wait > deadline:
            return outcome
        failures += 1
        time.sleep(wait)


def _read(answer: Answer) -> Any:
    try:
        content = json.loads(answer.body)
    except ValueError:
        raise SpoorError(answer.status, "no_json", f"the response is not JSON: {answer.body[:200]!r}") from None
    if 200 <= answer.status < 300:
        return content
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict):
        raise SpoorError(answer.status, "unknown", str(content)[:200])
    raise SpoorError(answer.status, str(error.get("code")), str(error.get("message")), str(error.get("requestId", "")))


class Traces:
    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def list(
        self,
        *,
        status: TraceStatus | None = None,
        model: str | None = None,
        name: str | None = None,
        tag: str | None = None,
        environment: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        runs_only: bool | None = None,
        start: str | None = None,
        end: str | None = None,
        sort: TraceSort | None = None,
        limit: int | None = None,
        after: str | None = None,
        before: str | None = None,
    ) -> TraceList:
        """Returns a page of traces.

        `start` and `end` limit startedAt (`from` and `to` of the API), as ISO 8601. `runs_only` leaves out traces
        without a model call, agent, tool or retriever.
        """
        query = {
            **{"status": status, "model": model, "name": name, "tag": tag, "environment": environment},
            **{"sessionId": session_id, "userId": user_id, "from": start, "to": end},
            **{"runsOnly": None if runs_only is None else str(runs_only).lower()},
            **{"sort": sort, "limit": limit, "after": after, "before": before},
        }
        return cast(TraceList, self._reads.ask("GET", "/api/v1/traces", query))

    def all(self, **filters: Any) -> Iterator[TraceSummary]:
        """Yields all traces that match these filters, page by page."""
        after: str | None = None
        while True:
            page = self.list(**{"limit": 200, **filters, **({} if after is None else {"after": after})})
            yield from page["traces"]
            after = page["nextCursor"]
            if after is None:
                return

    def get(self, trace_id: str) -> TraceDetail:
        return cast(TraceDetail, self._reads.ask("GET", f"/api/v1/traces/{quote(trace_id)}"))

    def patch_metadata(self, trace_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Merges metadata into a stored trace, key by key. Returns all of the trace's metadata."""
        answer = self._reads.ask("PATCH", f"/api/v1/traces/{quote(trace_id)}", body={"metadata": dict(metadata)})
        return cast("dict[str, Any]", answer["metadata"])

    def scores(self, trace_id: str) -> Sequence[Score]:
        """Returns all scores of a trace, newest first."""
        answer = self._reads.ask("GET", f"/api/v1/traces/{quote(trace_id)}/scores")
        return cast("Sequence[Score]", answer["scores"])

    def delete(self, trace_id: str) -> None:
        self._reads.ask("DELETE", f"/api/v1/traces/{quote(trace_id)}")


class Scores:
    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def list(
        self,
        *,
        name: str | None = None,
        environment: str | None = None,
        start: str | None = None,
        end: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> ScoreList:
        """Returns a page of scores. `start` and `end` limit createdAt (`from` and `to` of the API), as ISO 8601."""
        query = {"name": name, "environment": environment, "from": start, "to": end, "limit": limit, "after": after}
        return cast(ScoreList, self._reads.ask("GET", "/api/v1/scores", query))

    def all(self, **filters: Any) -> Iterator[Score]:
        after: str | None = None
        while True:
            page = self.list(**{"limit": 500, **filters, **({} if after is None else {"after": after})})
            yield from page["scores"]
            after = page["nextCursor"]
            if after is None:
                return

    def delete(self, trace_id: str, score_id: str) -> None:
        self._reads.ask("DELETE", f"/api/v1/traces/{quote(trace_id)}/scores/{quote(score_id)}")
