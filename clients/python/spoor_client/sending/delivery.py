"""Parts that wait to be sent, in memory or in a file, and the queue that orders them. Pure: files are only named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from ..otlp import joined_body

#: A whole trace; the start of a live trace, its spans and its end; spans as OTLP; a score.
PartKind = Literal["record", "start", "spans", "end", "otlp", "score"]
_KINDS: frozenset[str] = frozenset(get_args(PartKind))


@dataclass
class Part:
    """One request. Its bytes do not change until it is answered."""

    kind: PartKind
    body: bytes
    #: Number of earlier responses that rejected the part temporarily.
    tries: int = 0
    #: Whether the part may be stored although its response did not arrive.
    is_unsure: bool = False


@dataclass
class Delivery:
    """The parts of one trace, which are sent one after another."""

    trace_id: str
    name: str
    #: The parts in memory: all parts, or those after the parts that are only in the file.
    parts: list[Part] = field(default_factory=list)
    file: Path | None = None
    #: Whether the file has parts that are not in memory. They are sent first.
    is_unloaded: bool = False
    #: Number of the last parts in memory that the file lacks.
    unfiled: int = 0
    #: Whether these parts would be lost with the memory, because the file lacks them.
    is_file_behind: bool = True
    not_before: float = 0.0
    is_under_way: bool = False
    #: Whether another process left the delivery.
    is_left: bool = False
    #: Reason why spans were rejected. Cleared if the trace's end turns out to be stored.
    doubt: str | None = None

    @property
    def bytes(self) -> int:
        return sum(len(part.body) for part in self.parts)


def path_of(trace_id: str, kind: PartKind) -> str:
    if kind == "otlp":
        return "/api/v1/otlp/v1/traces"
    if kind in ("record", "start"):
        return "/api/v1/traces"
    return f"/api/v1/traces/{trace_id}/{'scores' if kind == 'score' else kind}"


# Format of files: a line for the trace, then a line for each part with its kind and body. JSON bodies have no line
# breaks. The last line shows that the file is complete. The TypeScript client reads and writes the same format. It
# writes spans for an external trace as `joined`, which this client sends as `otlp`.

_HEAD = "spoor 1 "
_LAST = "end of file"
_TRACE_ID = re.compile("[0-9a-f]{32}")


def file_text(delivery: Delivery) -> bytes:
    head = _HEAD + json.dumps({"traceId": delivery.trace_id, "name": delivery.name}, ensure_ascii=False)
    lines = [f"{part.kind} ".encode() + part.body for part in delivery.parts]
    return b"\n".join([head.encode("utf-8", "replace"), *lines, _LAST.encode(), b""])


def read_file_text(text: bytes) -> tuple[str, str, list[Part]] | None:
    """Returns trace id, name and parts; None if the file is incomplete."""
    head, *lines = text.split(b"\n")
    if not head.startswith(_HEAD.encode()) or len(lines) < 2 or lines[-2] != _LAST.encode():
        return None
    try:
        said = json.loads(head[len(_HEAD) :])
        trace_id, name = said["traceId"], str(said["name"])
        parts = [_part_of(trace_id, line) for line in lines[:-2]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return (trace_id, name, parts) if isinstance(trace_id, str) and _TRACE_ID.fullmatch(trace_id) else None


def _part_of(trace_id: str, line: bytes) -> Part:
    kind, _, body = line.partition(b" ")
    name = kind.decode("ascii")
    if name == "joined":
        return Part("otlp", joined_body(trace_id, body), is_unsure=True)
    if name not in _KINDS:
        raise ValueError(f"{name} is not a part of a trace")
    return Part(name, body, is_unsure=True)  # type: ignore[arg-type]


class Queue:
    """Deliveries in order of arrival, one per trace, and deliveries that other processes left."""

    def __init__(self) -> None:
        self._deliveries: dict[str, Delivery] = {}
        self._under_way: set[str] = set()
        #: Total size of the bodies in memory.
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._deliveries)

    def __iter__(self) -> Iterator[Delivery]:
        # A copy is iterated, because finalisers may add deliveries during the iteration.
        return iter(list(self._deliveries.values()))

    def of_trace(self, trace_id: str) -> Delivery | None:
        return self._deliveries.get(trace_id)

    def add(self, delivery: Delivery) -> None:
        key = str(delivery.file) if delivery.is_left else delivery.trace_id
        self._deliveries[key] = delivery
        self.bytes += delivery.bytes

    def remove(self, delivery: Delivery) -> None:
        for key in (str(delivery.file), delivery.trace_id):
            if self._deliveries.get(key) is delivery:
                del self._deliveries[key]
                self.bytes -= delivery.bytes

    def set_parts(self, delivery: Delivery, parts: list[Part]) -> None:
        before = delivery.bytes
        delivery.parts = parts
        self.bytes += delivery.bytes - before

    def take(self, now: float) -> tuple[Delivery | None, float | None]:
        """Returns the next delivery that may be sent now, or the time at which a delivery may be sent."""
        next_at: float | None = None
        for delivery in self:
            if delivery.trace_id in self._under_way:
                continue
            if delivery.not_before <= now:
                delivery.is_under_way = True
                self._under_way.add(delivery.trace_id)
                return delivery, None
            next_at = delivery.not_before if next_at is None else min(next_at, delivery.not_before)
        return None, next_at

    def put_back(self, delivery: Delivery) -> None:
        delivery.is_under_way = False
        self._under_way.discard(delivery.trace_id)

    def has_ready(self, now: float) -> bool:
        return any(each.not_before <= now and each.trace_id not in self._under_way for each in self)
