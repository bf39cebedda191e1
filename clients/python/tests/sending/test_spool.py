"""Spool files are complete, each is sent by one process, and both clients read and write the same format."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor_client.sending.connection import Server
from spoor_client.sending.delivery import Delivery, Part, Queue, file_text, read_file_text
from spoor_client.sending.owner import Owner
from spoor_client.sending.spool import Spool, SpoolError

OWNER = Owner(Server("http://localhost:8787", f"spoor_live_{'a' * 16}_{'s' * 43}"))
ID = "0af7651916cd43dd8448eb211c80319c"
#: The TypeScript client writes the same file.
FILE = f"""spoor 1 {{"traceId": "{ID}", "name": "é"}}
start {{"schemaVersion":1}}
score {{"name":"s"}}
end of file
""".encode()


def delivery(*bodies: bytes, trace_id: str = ID) -> Delivery:
    return Delivery(trace_id, "é", [Part("record", body) for body in bodies], unfiled=len(bodies))


def test_a_file_has_a_line_for_the_trace_and_one_for_each_part() -> None:
    found = read_file_text(FILE)
    assert found is not None
    trace_id, name, parts = found
    assert (trace_id, name) == (ID, "é")
    assert [(part.kind, part.body) for part in parts] == [("start", b'{"schemaVersion":1}'), ("score", b'{"name":"s"}')]
    # The parts may have been sent before.
    assert all(part.is_unsure for part in parts)
    assert file_text(Delivery(trace_id, name, parts)) == FILE


@pytest.mark.parametrize(
    "text",
    [
        b"",
        FILE[:-1],
        FILE[:-13],
        FILE.replace(b"spoor 1", b"spoor 2"),
        FILE.replace(b"score", b"other"),
        FILE.replace(ID.encode(), b"../../x"),
        b"\xff\xfe",
    ],
)
def test_an_incomplete_file_is_not_a_file(text: bytes) -> None:
    assert read_file_text(text) is None


@given(st.integers(0, len(FILE) - 1))
def test_no_prefix_of_a_file_is_mistaken_for_one(length: int) -> None:
    assert read_file_text(FILE[:length]) is None


def test_a_broken_file_is_set_aside_for_inspection(tmp_path: Path) -> None:
    tmp_path.joinpath(f"1-{ID}-1-1{OWNER.mark}").write_bytes(FILE[:-5])
    spool = Spool(tmp_path, OWNER)
    (left,) = spool.adopt().adopted
    assert left.file is not None and spool.read(left.file) is None
    spool.release()
    assert [file.name for file in tmp_path.iterdir()] == [f"1-{ID}-1-1{OWNER.mark}.broken"]


def test_files_that_another_process_sends_are_left_to_it(tmp_path: Path) -> None:
    other = Spool(tmp_path, OWNER)
    other.write(delivery(b"1"))
    # The folder belongs to a running process of this host.
    running = other.own.rename(tmp_path / f"sender-{socket.gethostname()}-{os.getppid()}-00000001")
    spool = Spool(tmp_path, OWNER)
    assert spool.adopt().adopted == []
    # The folder has not been touched for long: its process hangs, or was on another host and has ended.
    os.utime(running, (time.time() - 100,) * 2)
    assert [left.trace_id for left in spool.adopt().adopted] == [ID]
    assert not running.exists()


def test_files_left_by_a_process_are_taken_over_at_once(tmp_path: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    other = Spool(tmp_path, OWNER)
    other.write(delivery(b"1"))
    left = other.own.rename(tmp_path / f"sender-{other._host}-{gone.stdout.strip()}-00000001")
    left.joinpath("half.spoor.part").write_text("half")
    spool = Spool(tmp_path, OWNER)
    assert len(spool.adopt().adopted) == 1
    assert os.listdir(tmp_path) == [spool.own.name]
    # A restarted container has the same process id.
    earlier = spool.own.rename(tmp_path / f"sender-{spool._host}-{os.getpid()}-00000002")
    assert len(Spool(tmp_path, OWNER).adopt().adopted) == 1
    assert not earlier.exists()


def test_two_clients_in_one_process_do_not_take_each_others_files(tmp_path: Path) -> None:
    first, second = Spool(tmp_path, OWNER), Spool(tmp_path, OWNER)
    first.write(delivery(b"1"))
    assert second.adopt().adopted == []
    first.release()
    assert len(second.adopt().adopted) == 1


def test_a_spool_respects_its_limit(tmp_path: Path) -> None:
    spool = Spool(tmp_path, OWNER, max_bytes=1_000)
    first = delivery(b"x" * 600)
    spool.write(first)
    with pytest.raises(SpoolError, match="the spool is full"):
        spool.write(delivery(b"x" * 600))
    # The new content replaces the file's content.
    first.parts.append(Part("score", b"y" * 200))
    spool.write(first)
    assert first.file is not None
    assert [part.kind for part in spool.read(first.file) or []] == ["record", "score"]
    spool.remove(first.file)
    spool.write(delivery(b"x" * 600))


def test_parts_of_one_trace_wait_for_each_other_and_other_traces_do_not() -> None:
    queue = Queue()
    one, two = delivery(b"1"), delivery(b"2", trace_id="1" * 32)
    left = Delivery(ID, "left", file=Path("left"), is_unloaded=True, is_left=True)
    for each in (one, left, two):
        queue.add(each)
    assert queue.take(0)[0] is one
    # A delivery of the same trace that another process left comes later.
    assert queue.take(0)[0] is two
    assert queue.take(0) == (None, None)
    queue.put_back(one)
    one.not_before = 5
    assert queue.take(0)[0] is left
    queue.put_back(left)
    queue.remove(left)
    assert queue.take(0) == (None, 5)
    assert queue.bytes == 2
    queue.remove(one)
    assert (len(queue), queue.bytes) == (1, 1)


def test_spans_that_join_a_trace_are_read_as_an_export_and_a_broken_export_is_rejected() -> None:
    joined = b'{"rootId":"b7ad6b7169203331","spans":[{"id":"00f067aa0ba902b7","name":"\\ud800","kind":"tool"'
    times = b',"status":"ok","startedAt":"2026-01-01T00:00:00.000001Z","endedAt":"2026-01-01T00:00:01.000000Z"}]}'
    file = b'spoor 1 {"traceId":"%b","name":"a"}\njoined %b\nend of file\n'
    read = read_file_text(file % (ID.encode(), joined + times))
    assert read is not None
    (part,) = read[2]
    assert (part.kind, b'"parentSpanId":"b7ad6b7169203331"' in part.body) == ("otlp", True)
    assert b'"startTimeUnixNano":"1767225600000001000"' in part.body
    for broken in (b"[]", b"{}", b'{"rootId":"b","spans":[1]}', joined + b"}]}", joined + times.replace(b"T", b"x")):
        assert read_file_text(file % (ID.encode(), broken)) is None
