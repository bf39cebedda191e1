"""Traces on disk are sent to the project for which they were recorded, or they stay on disk and are reported."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spoor_client import Spoor, SpoorError
from spoor_client.sending import owner as owning
from spoor_client.sending import sender as sending
from spoor_client.sending.connection import Server as Target
from spoor_client.sending.owner import Claim, Owner
from spoor_client.sending.sender import SETTLED_SECONDS
from tests.conftest import Run, Server
from tests.sending.test_exchange import node
from tests.sending.test_sending import record

NOWHERE = "http://127.0.0.1:9"
BODY = b'{"projectId":"%b","environment":%b}'


def key_of(letter: str) -> str:
    return f"spoor_live_{letter * 16}_{'s' * 43}"


def owner_of(key: str, url: str = "http://localhost:8787") -> Owner:
    return Owner(Target(url, key))


def until(holds: Callable[[], Any], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def forget(folder: Path) -> None:
    """Renames files as version 1.0.0-rc.1 named them."""
    for file in folder.glob("*.spoor"):
        file.rename(folder / ("-".join(file.stem.split("-")[:4]) + ".spoor"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_LOOK_SECONDS", 0.1)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resets the module to the state of a process without clients."""
    monkeypatch.setattr(owning, "_spools", {})


@pytest.fixture(scope="module")
def other_key(server: Server) -> str:
    """Creates a key of another project."""
    server.command("project", "create", "other", "--slug", "other")
    return str(server.command("key", "create", "--project", "other")["key"])


@pytest.fixture
def new_key(server: Server) -> Callable[..., Any]:
    return lambda *words: server.command("key", "create", "--project", "python", *words)


def test_an_entry_is_for_one_server_project_and_environment_whatever_the_servers_address() -> None:
    def destination(url: str, project: bytes = b"p", environment: bytes = b"null") -> str | None:
        owner = owner_of(key_of("a"), url)
        assert owner.learn(BODY % (project, environment))
        return owner.destination

    names = ("localhost:8787", "127.0.0.1:8787/", "[::1]:8787", "LOCALHOST:8787//", "name:secret@localhost:8787")
    same = {destination(f"http://{name}") for name in names}
    assert len(same) == 1
    assert destination("https://x.example") == destination("https://x.example:443/")
    others = [
        *map(destination, ("http://localhost:8788", "http://localhost:8787/base", "http://x.ex", "https://x.ex")),
        destination("http://localhost:8787", b"q"),
        destination("http://localhost:8787", b"p", b'"production"'),
    ]
    assert len({*same, *others}) == 7
    for odd in (b"", b"[]", b"{}", b"<html>", b'{"projectId":1}'):
        assert not owner_of(key_of("a")).learn(odd)


def test_names_contain_a_keys_id_and_no_part_of_its_secret() -> None:
    assert owner_of(key_of("a")).mark == f"-{'a' * 16}.spoor"
    assert owner_of(f"my_live_prefix{key_of('b')}").key_id == "b" * 16
    for odd in ("key", "sk-secret", f"{key_of('c')}x"):
        assert re.fullmatch(r"-[0-9a-f]{16}\.spoor", owner_of(odd).mark)
        assert odd not in owner_of(odd).mark


def test_what_is_done_with_an_entry(alone: None) -> None:
    here, elsewhere = Path("/spool"), Path("/elsewhere")
    ours, rotated, other = (owner_of(key_of(letter)) for letter in "abc")
    ours.register(here)
    start = f"1-{'0' * 32}-1-1"
    assert ours.claim(f"{start}.spoor", here) is Claim.TAKE
    assert ours.claim(start + ours.mark, here) is Claim.TAKE
    assert ours.claim(start + rotated.mark, here) is Claim.OTHER
    rotated.learn(BODY % (b"p", b"null"))
    assert ours.claim(start + rotated.mark, here) is Claim.ASK
    ours.learn(BODY % (b"p", b"null"))
    assert ours.claim(start + rotated.mark, here) is Claim.TAKE
    other.learn(BODY % (b"p", b'"production"'))
    assert ours.claim(start + other.mark, here) is Claim.OTHER
    other.register(here)
    assert ours.claim(start + other.mark, here) is Claim.SPARE
    assert ours.claim(start + other.mark, elsewhere) is Claim.OTHER
    assert ours.claim(f"{start}.spoor", here) is Claim.UNNAMED
    other.unregister(here)
    assert ours.claim(start + other.mark, here) is Claim.OTHER
    # Any key that the process has used may have left the entry.
    assert ours.claim(f"{start}.spoor", here) is Claim.UNNAMED


def test_two_clients_of_different_projects_share_a_spool_during_an_outage(
    server: Server, other_key: str, run: Run, tag: str, tmp_path: Path
) -> None:
    program = """
import sys, time
import spoor_client as spoor
url, tag, *keys = sys.argv[1:]
clients = [spoor.Spoor(url, key) for key in keys]
for number in range(4):
    for place, client in enumerate(clients):
        with client.trace(f"of {place}", tags=[tag]):
            pass
deadline = time.monotonic() + 30
while "127.0.0.1:9" not in url and time.monotonic() < deadline and any(client.flush(1).sent < 8 for client in clients):
    pass
print([client.flush(0).problems for client in clients])
"""
    away = run(program, NOWHERE, tag, server.key, other_key)
    assert away.returncode == 0, away.stderr
    assert len(list((tmp_path / ".spoor").glob("*.spoor"))) == 8
    sent = run(program, server.url, tag, server.key, other_key)
    assert (sent.returncode, sent.stdout.strip()) == (0, "[[], []]"), sent.stderr
    for place, key in enumerate((server.key, other_key)):
        traces = Spoor(server.url, key, spool=False).traces.all(tag=tag)
        assert [trace["name"] for trace in traces] == [f"of {place}"] * 8
    assert list(tmp_path.rglob("*-*.spoor")) == []


def test_after_a_rotation_the_new_key_sends_waiting_traces_and_other_keys_do_not(
    quick: None, server: Server, other_key: str, new_key: Callable[..., Any], tag: str, tmp_path: Path
) -> None:
    old, production = new_key(), new_key("--environment", "production")
    first = Spoor(server.url, old["key"], spool=tmp_path)
    record(first, tag, 1)
    assert first.flush(20).sent == 1
    assert first._sender.spool is not None  # type: ignore[union-attr]
    owner = first._sender.spool.owner  # type: ignore[union-attr]
    until(lambda: owner.destination)
    rotated = server.command("key", "rotate", old["keyId"])["key"]
    until(lambda: is_refused(server, old["key"]))
    record(first, tag, 3)
    assert first.close(5).sent == 1
    assert len(list(tmp_path.glob("*.spoor"))) == 3

    for key in (other_key, production["key"]):
        problems: list[str] = []
        leaving = Spoor(server.url, key, spool=tmp_path, on_problem=problems.append)
        until(lambda: problems)  # noqa: B023
        time.sleep(0.3)
        assert leaving.close(0).sent == 0
        assert len(problems) == 1
        assert problems[0].startswith(f"traces left in {tmp_path}: 3, recorded with another key ({old['keyId']})")
        assert len(list(tmp_path.glob("*.spoor"))) == 3
    following = Spoor(server.url, rotated, spool=tmp_path)
    until(lambda: following.flush(1).sent == 3)
    assert following.close(5).problems == []
    assert len(server.stored(tag)) == 4
    assert list(tmp_path.rglob("*-*.spoor")) == []


def is_refused(server: Server, key: str) -> bool:
    try:
        Spoor(server.url, key, spool=False).key()
    except SpoorError as error:
        return error.status == 401
    return False


def test_an_entry_without_a_known_project_is_taken_only_by_its_own_key(
    quick: None, server: Server, new_key: Callable[..., Any], tag: str, tmp_path: Path
) -> None:
    made = new_key()
    away = Spoor(NOWHERE, made["key"], spool=tmp_path)
    record(away, tag, 1)
    away.close(0)
    problems: list[str] = []
    other = Spoor(server.url, server.key, spool=tmp_path, on_problem=problems.append)
    until(lambda: problems)
    assert f": 1, recorded with another key ({made['keyId']})" in problems[0]
    own = Spoor(server.url, made["key"], spool=tmp_path)
    until(lambda: own.flush(1).sent == 1)
    own.close(1)
    other.close(1)


def test_files_of_an_earlier_version_are_sent_by_a_process_with_one_key(
    quick: None, server: Server, other_key: str, run: Run, tag: str, tmp_path: Path
) -> None:
    spool = tmp_path / ".spoor"
    away = Spoor(NOWHERE, server.key, spool=spool)
    record(away, tag, 2)
    away.close(0)
    forget(spool)
    problems: list[str] = []
    # The process has several keys.
    clients = [Spoor(server.url, key, spool=spool, on_problem=problems.append) for key in (server.key, other_key)]
    until(lambda: len(problems) == 2)
    assert all(": 2, recorded by an earlier version, which did not say" in problem for problem in problems)
    for client in clients:
        client.close(1)
    program = f"""
import sys, time
import spoor_client as spoor
clients = [spoor.Spoor()]
if len(sys.argv) > 1:
    # A client that is made a little later counts as well.
    time.sleep({SETTLED_SECONDS} / 5)
    clients.append(spoor.Spoor(key=sys.argv[1]))
time.sleep({SETTLED_SECONDS} + 1)
"""
    assert run(program, other_key).returncode == 0
    assert len(list(spool.glob("*.spoor"))) == 2
    assert run(program).returncode == 0
    until(lambda: len(server.stored(tag)) == 2)
    assert list(spool.rglob("*-*.spoor")) == []


def test_both_clients_give_an_entry_the_same_name(server: Server, new_key: Callable[..., Any], tmp_path: Path) -> None:
    program = """
const { Spoor } = await import(process.argv[1])
const { Owner } = await import(new URL('send/owner.js', 'file://' + process.argv[1]))
const [, , key, odd] = process.argv
for (const [url, each] of [['https://Name:x@Example.com:443/base//', key], ['http://[::1]:8787', odd]]) {
  const owner = new Owner({ url, key: each })
  console.log(owner.mark)
  owner.learn('p-1', 'production')
  console.log(owner.mark)
}
"""
    key, odd = new_key()["key"], "ökey"
    marks = []
    for url, each in (("https://Name:x@Example.com:443/base//", key), ("http://[::1]:8787", odd)):
        owner = owner_of(each, url)
        marks.append(owner.mark)
        owner.learn(BODY % (b"p-1", b'"production"'))
        marks.append(owner.mark)
    assert node(program, key, odd) == marks
