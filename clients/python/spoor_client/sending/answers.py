"""Decides how to proceed after a response, or after a request without a response. Pure."""

from __future__ import annotations

import enum
import json
import random
from dataclasses import dataclass
from typing import Any

from .delivery import PartKind

_FIRST_WAIT = 0.2
#: Maximum of the client's own delays. A delay that the server requests may reach the second limit.
MAX_WAIT = 30.0
_MAX_ASKED_WAIT = 120.0
#: Delay before a rejected key is retried, in case it has received the missing scope.
REFUSED_KEY_WAIT = 60.0
#: Maximum number of retries, over about a minute, for a score whose trace another process has yet to send.
_SCORE_TRIES = 9


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    retry_after: str | None = None


@dataclass(frozen=True)
class NoAnswer:
    reason: str
    #: Whether the server may have executed the request although its response was lost.
    may_be_taken: bool


class Do(enum.Enum):
    DONE = "it is stored"
    WAIT = "send nothing for a while, then this again"
    LATER = "send this again later, and other traces meanwhile"
    STOP = "the key is rejected: keep everything"
    DIVIDE = "it is too large: send it in smaller parts"
    DOUBT = "the trace had already ended: the response to its end shows whether it is this trace"
    DROP = "it will never be accepted"


@dataclass(frozen=True)
class Verdict:
    do: Do
    reason: str = ""
    wait: float = 0.0


def judge(kind: PartKind, outcome: Answer | NoAnswer, tries: int = 0, failures: int = 0) -> Verdict:
    """
    `tries` counts the earlier responses to this part; `failures` counts consecutive requests without a usable response.
    """
    if isinstance(outcome, NoAnswer):
        return Verdict(Do.WAIT, outcome.reason, backoff(failures))
    status = outcome.status
    if 200 <= status < 300:
        return _judge_success(kind, outcome, failures)
    code, message = _read_error(outcome)
    reason = f"{status} {code}: {message}" if code else f"{status}: {message}"
    if status in (401, 403) and code != "forbidden":
        return Verdict(Do.STOP, reason, REFUSED_KEY_WAIT)
    if status in (408, 425, 429, 502, 503, 504) or 300 <= status < 400 or (status >= 500 and not code):
        return Verdict(Do.WAIT, reason, _asked_wait(outcome.retry_after) or backoff(failures))
    if status >= 500:
        return Verdict(Do.LATER, reason, backoff(tries))
    if status in (404, 405) and code and kind in ("record", "start", "otlp"):
        # spoor always has these paths, so the server's address contains a wrong path, such as that of the dashboard.
        return Verdict(Do.WAIT, f"there is no spoor API below this address: {reason}", backoff(failures))
    if status == 404 and not code:
        # The response comes from another server that does not know the path, such as a proxy whose spoor is starting.
        return Verdict(Do.WAIT, reason, backoff(failures))
    if status == 404 and kind == "score" and tries < _SCORE_TRIES:
        return Verdict(Do.LATER, reason, backoff(tries))
    if status == 413 and kind != "score":
        return Verdict(Do.DIVIDE, reason)
    if kind == "spans" and code == "trace_finished":
        return Verdict(Do.DOUBT, reason)
    return Verdict(Do.DROP, reason)


def _judge_success(kind: PartKind, answer: Answer, failures: int) -> Verdict:
    body = read_json(answer.body)
    # A page of a proxy or captive portal can also have the status 200.
    if body is None or (kind != "otlp" and body.get("ok") is not True):
        return Verdict(Do.WAIT, f"HTTP {answer.status} that is not from spoor", backoff(failures))
    rejected = body.get("partialSuccess") if kind == "otlp" else None
    if isinstance(rejected, dict) and int(rejected.get("rejectedSpans") or 0) > 0:
        return Verdict(Do.DROP, f"{rejected['rejectedSpans']} spans were rejected: {rejected.get('errorMessage')}")
    return Verdict(Do.DONE)


def backoff(before: int) -> float:
    """Returns 0.2 s, doubled each time up to 30 s. Half of it is random, so that clients do not all retry at once."""
    longest = min(_FIRST_WAIT * 2.0 ** min(before, 20), MAX_WAIT)
    return longest * (0.5 + random.random() / 2)


def _asked_wait(retry_after: str | None) -> float | None:
    try:
        seconds = float(retry_after) if retry_after is not None else 0.0
    except ValueError:  # The header has a date, which spoor never sends.
        return None
    return min(seconds, _MAX_ASKED_WAIT) if seconds > 0 else None


def _read_error(answer: Answer) -> tuple[str, str]:
    error = (read_json(answer.body) or {}).get("error")
    if isinstance(error, dict) and isinstance(error.get("code"), str):
        return error["code"], str(error.get("message"))
    return "", answer.body[:200].decode("utf-8", "replace").strip() or "no body"


def read_json(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
