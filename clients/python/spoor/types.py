"""
What reads answer. Made by tools/make_types.py from the server's OpenAPI document, not by hand.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union


class KeyDescription(TypedDict):
    keyId: str
    projectId: str
    scopes: list[Literal["traces:write", "traces:read", "traces:delete"]]
    expiresAt: Union[str, None]
    """Null: never."""
    lastUsedAt: str
    """ISO 8601 in UTC, with three or six fraction digits."""
    environment: Union[str, None]
    """The environment stamped on what the key records; null: unassigned."""


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
    """When the newest trace was ingested."""
    createdAt: str
    """ISO 8601 in UTC, with three or six fraction digits."""
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
    """A number for `numeric`, a string for `categorical`, a boolean for `boolean`."""
    evaluatorId: Union[str, None]


class TraceSummary(TypedDict):
    id: str
    name: str
    status: Literal["ok", "error", "unset", "running"]
    """`running` until the trace is ended."""
    environment: Union[str, None]
    """The environment of the key that recorded the trace; null: unassigned."""
    startedAt: str
    """ISO 8601 in UTC, with three or six fraction digits."""
    endedAt: Union[str, None]
    """Null while the trace is running."""
    durationMs: Union[int, None]
    """Null while the trace is running."""
    provider: Union[str, None]
    model: Union[str, None]
    sessionId: Union[str, None]
    userId: Union[str, None]
    tags: list[str]
    usage: Usage
    costUsd: Union[float, None]
    spanCount: int
    errorCount: int
    """Spans whose status is `error`."""
    estimatedBytes: int
    """Serialised size of the trace and its spans."""
    ingestedAt: Union[str, None]
    """When the service stored the trace; null: not known, for an imported one."""
    scores: dict[str, ScoreSummary]
    """The newest score of each name, by name."""


class TraceList(TypedDict):
    traces: list[TraceSummary]
    nextCursor: Union[str, None]
    """Pass as `after` for the next page; null: this is the last."""
    prevCursor: Union[str, None]
    """Pass as `before` for the page before; null: this is the first."""
    pageSize: int
    """The limit in force."""


class Trace(TypedDict):
    id: str
    name: str
    status: Literal["ok", "error", "unset", "running"]
    """`running` until the trace is ended."""
    environment: Union[str, None]
    """The environment of the key that recorded the trace; null: unassigned."""
    startedAt: str
    """ISO 8601 in UTC, with three or six fraction digits."""
    endedAt: Union[str, None]
    """Null while the trace is running."""
    durationMs: Union[int, None]
    """Null while the trace is running."""
    provider: Union[str, None]
    model: Union[str, None]
    sessionId: Union[str, None]
    userId: Union[str, None]
    tags: list[str]
    usage: Usage
    costUsd: Union[float, None]
    spanCount: int
    errorCount: int
    """Spans whose status is `error`."""
    estimatedBytes: int
    """Serialised size of the trace and its spans."""
    ingestedAt: Union[str, None]
    """When the service stored the trace; null: not known, for an imported one."""
    scores: dict[str, ScoreSummary]
    """The newest score of each name, by name."""
    input: Any
    """Any JSON value."""
    output: Any
    """Any JSON value."""
    metadata: dict[str, Any]
    """An object of any JSON values."""
    metadataUpdatedAt: Union[str, None]
    """When the metadata was last changed after ingest; null: never."""
    bodyHash: str
    """Identifies the body as it was ingested; later changes of the metadata leave it as it is."""


class SpanEvent(TypedDict):
    name: str
    timestamp: str
    """ISO 8601 in UTC, with three or six fraction digits."""
    attributes: Union[dict[str, Any], None]


class Span(TypedDict):
    id: str
    traceId: str
    parentSpanId: Union[str, None]
    name: str
    kind: Literal["llm", "agent", "tool", "chain", "retriever", "embedding", "reranker", "custom"]
    status: Literal["ok", "error", "unset"]
    startedAt: str
    """ISO 8601 in UTC, with three or six fraction digits."""
    endedAt: str
    """ISO 8601 in UTC, with three or six fraction digits."""
    durationMs: int
    provider: Union[str, None]
    model: Union[str, None]
    input: Any
    """Any JSON value."""
    output: Any
    """Any JSON value."""
    attributes: dict[str, Any]
    """An object of any JSON values."""
    events: list[SpanEvent]
    usage: Union[Usage, None]
    """Null where none was recorded."""
    costUsd: Union[float, None]


class Score(TypedDict):
    id: str
    traceId: str
    spanId: Union[str, None]
    """The span that is judged; null: the whole trace."""
    name: str
    dataType: Literal["numeric", "categorical", "boolean"]
    value: Union[float, str, bool]
    """A number for `numeric`, a string for `categorical`, a boolean for `boolean`."""
    comment: Union[str, None]
    source: Literal["api", "annotation", "eval"]
    """`api`: through this API or MCP; `annotation`: on the dashboard; `eval`: by an evaluator."""
    evaluatorId: Union[str, None]
    runId: Union[str, None]
    createdAt: str
    """ISO 8601 in UTC, with three or six fraction digits."""


class TraceDetail(TypedDict):
    trace: Trace
    spans: list[Span]
    """By `startedAt`, then id."""
    scores: list[Score]
    """Newest first."""


class ScoreList(TypedDict):
    scores: list[Score]
    nextCursor: Union[str, None]
    """Pass as `after` for the next page; null: this is the last."""
    pageSize: int
    """The limit in force."""


class TraceScoreList(TypedDict):
    traceId: str
    scores: list[Score]
