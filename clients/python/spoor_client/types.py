"""
The types of the responses to reads. Made by tools/make_types.py from the server's OpenAPI document, not by hand.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union


class KeyDescription(TypedDict):
    keyId: str
    projectId: str
    scopes: list[Literal["traces:write", "traces:read", "traces:delete"]]
    expiresAt: Union[str, None]
    """The expiry time. Null means never."""
    lastUsedAt: str
    """An ISO 8601 time in UTC, with three or six fraction digits."""
    environment: Union[str, None]
    """The environment of traces recorded with the key. Null means unassigned."""


class ProjectStorage(TypedDict):
    limitBytes: int
    level: Literal["ok", "warning", "critical"]


class Project(TypedDict):
    id: str
    name: str
    slug: str
    description: str
    traceCount: int
    spanCount: int
    estimatedBytes: int
    lastTraceAt: Union[str, None]
    """The time of the most recent ingest."""
    createdAt: str
    """An ISO 8601 time in UTC, with three or six fraction digits."""
    storage: ProjectStorage
    keyScopes: list[Literal["traces:write", "traces:read", "traces:delete"]]


class Usage(TypedDict):
    inputTokens: int
    outputTokens: int
    totalTokens: int


class ScoreSummary(TypedDict):
    scoreId: str
    dataType: Literal["numeric", "categorical", "boolean"]
    value: Union[float, str, bool]
    """The value is a number for `numeric`, a string for `categorical` and a boolean for `boolean`."""
    evaluatorId: Union[str, None]


class TraceSummary(TypedDict):
    id: str
    name: str
    status: Literal["ok", "error", "unset", "running"]
    """The status is `running` until the trace ends."""
    environment: Union[str, None]
    """The environment of the key that recorded the trace. Null means unassigned."""
    startedAt: str
    """An ISO 8601 time in UTC, with three or six fraction digits."""
    endedAt: Union[str, None]
    """The end time. Null while the trace is running."""
    durationMs: Union[int, None]
    """The duration. Null while the trace is running."""
    provider: Union[str, None]
    model: Union[str, None]
    sessionId: Union[str, None]
    userId: Union[str, None]
    tags: list[str]
    usage: Usage
    costUsd: Union[float, None]
    spanCount: int
    errorCount: int
    """The number of spans with status `error`."""
    estimatedBytes: int
    """The serialised size of the trace and its spans."""
    ingestedAt: Union[str, None]
    """The time at which the service stored the trace. Null if it is not known, as for some imported traces."""
    scores: dict[str, ScoreSummary]
    """The newest score for each name."""


class TraceList(TypedDict):
    traces: list[TraceSummary]
    nextCursor: Union[str, None]
    """To get the next page, pass this value as `after`. Null on the last page."""
    prevCursor: Union[str, None]
    """To get the previous page, pass this value as `before`. Null on the first page."""
    pageSize: int
    """The limit in effect."""


class Trace(TypedDict):
    id: str
    name: str
    status: Literal["ok", "error", "unset", "running"]
    """The status is `running` until the trace ends."""
    environment: Union[str, None]
    """The environment of the key that recorded the trace. Null means unassigned."""
    startedAt: str
    """An ISO 8601 time in UTC, with three or six fraction digits."""
    endedAt: Union[str, None]
    """The end time. Null while the trace is running."""
    durationMs: Union[int, None]
    """The duration. Null while the trace is running."""
    provider: Union[str, None]
    model: Union[str, None]
    sessionId: Union[str, None]
    userId: Union[str, None]
    tags: list[str]
    usage: Usage
    costUsd: Union[float, None]
    spanCount: int
    errorCount: int
    """The number of spans with status `error`."""
    estimatedBytes: int
    """The serialised size of the trace and its spans."""
    ingestedAt: Union[str, None]
    """The time at which the service stored the trace. Null if it is not known, as for some imported traces."""
    scores: dict[str, ScoreSummary]
    """The newest score for each name."""
    input: Any
    """Any JSON value."""
    output: Any
    """Any JSON value."""
    metadata: dict[str, Any]
    """An object whose values can be any JSON."""
    metadataUpdatedAt: Union[str, None]
    """The time of the last metadata change after ingest. Null if there was none."""
    bodyHash: str
    """A hash of the body as ingested. Later metadata changes do not affect it."""


class SpanEvent(TypedDict):
    name: str
    timestamp: str
    """An ISO 8601 time in UTC, with three or six fraction digits."""
    attributes: Union[dict[str, Any], None]


class Span(TypedDict):
    id: str
    traceId: str
    parentSpanId: Union[str, None]
    name: str
    kind: Literal["llm", "agent", "tool", "chain", "retriever", "embedding", "reranker", "custom"]
    status: Literal["ok", "error", "unset"]
    startedAt: str
    """An ISO 8601 time in UTC, with three or six fraction digits."""
    endedAt: str
    """An ISO 8601 time in UTC, with three or six fraction digits."""
    durationMs: int
    provider: Union[str, None]
    model: Union[str, None]
    input: Any
    """Any JSON value."""
    output: Any
    """Any JSON value."""
    attributes: dict[str, Any]
    """An object whose values can be any JSON."""
    events: list[SpanEvent]
    usage: Union[Usage, None]
    """The span's usage. Null if none was recorded."""
    costUsd: Union[float, None]


class Score(TypedDict):
    id: str
    traceId: str
    spanId: Union[str, None]
    """The scored span. If null, the score applies to the whole trace."""
    name: str
    dataType: Literal["numeric", "categorical", "boolean"]
    value: Union[float, str, bool]
    """The value is a number for `numeric`, a string for `categorical` and a boolean for `boolean`."""
    comment: Union[str, None]
    source: Literal["api", "annotation", "eval"]
    """The source is `api` for this API and MCP, `annotation` for the dashboard and `eval` for an evaluator."""
    evaluatorId: Union[str, None]
    runId: Union[str, None]
    createdAt: str
    """An ISO 8601 time in UTC, with three or six fraction digits."""


class TraceDetail(TypedDict):
    trace: Trace
    spans: list[Span]
    """The spans, ordered by `startedAt`, then id."""
    scores: list[Score]
    """The scores, newest first."""


class ScoreList(TypedDict):
    scores: list[Score]
    nextCursor: Union[str, None]
    """To get the next page, pass this value as `after`. Null on the last page."""
    pageSize: int
    """The limit in effect."""


class TraceScoreList(TypedDict):
    traceId: str
    scores: list[Score]
