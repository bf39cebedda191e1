"""What an answer of the server, or none, means for what was sent. Pure."""

from __future__ import annotations

import enum
import json
import random
from dataclasses import dataclass
from typing import Any

from .delivery import PartKind

_FIRST_WAIT = 0.2
#: No wait of the client's own is longer; what a server asks for is believed up to the other.
MAX_WAIT = 30.0
_MAX_ASKED_WAIT = 120.0
#: A key that is refused is tried again this rarely: somebody may have given it the scope that it lacks.
REFUSED_KEY_WAIT = 60.0
#: A score may come before its trace, which another process records: so often it is tried again, for about a minute.
_SCORE_TRIES = 9


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    retry_after: str | None = None


@dataclass(frozen=True)
class NoAnswer:
    reason: str
    #: The request may have been taken, and its answer lost.
    may_be_taken: bool


class Do(enum.Enum):
    DONE = "it is stored"
    WAIT = "send nothing for a while, then this again"
    LATER = "send this again later, and other traces meanwhile"
    STOP = "the key is refused: keep everything"
    DIVIDE = "it is too large: send it in smaller parts"
    DOUBT = "the trace had ended before: its end tells whether it is this very trace"
    DROP = "it will never be taken"


@dataclass(frozen=True)
class Verdict:
    do: Do
    reason: str = ""
    wait: float = 0.0


def judge(kind: PartKind, outcome: Answer | NoAnswer, tries: int = 0, failures: int = 0) -> Verdict:
    """`tries`: how often the server has looked at this in vain; `failures`: how often in a row it looked at nothing."""
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
    if status == 404 and not code:
        # Another server, that does not know the path: perhaps a proxy whose spoor is on its way up.
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
    # A page of a proxy or of a captive portal has the status 200, too.
    if body is None or (kind != "otlp" and body.get("ok") is not True):
        return Verdict(Do.WAIT, f"{answer.status} that is no answer of spoor", backoff(failures))
    rejected = body.get("partialSuccess") if kind == "otlp" else None
    if isinstance(rejected, dict) and int(rejected.get("rejectedSpans") or 0) > 0:
        return Verdict(Do.DROP, f"{rejected['rejectedSpans']} spans are refused: {rejected.get('errorMessage')}")
    return Verdict(Do.DONE)


def backoff(before: int) -> float:
    """0.2 s, doubled each time up to 30 s, of which a half is by chance: not all come back in one moment."""
    longest = min(_FIRST_WAIT * 2.0 ** min(before, 20), MAX_WAIT)
    return longest * (0.5 + random.random() / 2)


def _asked_wait(retry_after: str | None) -> float | None:
    try:
        seconds = float(retry_after) if retry_after is not None else 0.0
    except ValueError:  # A date, which no spoor sends.
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
