"""
Fixtures shared by the tests. `npm run test:python` starts the server and passes its address in SPOOR_URL, SPOOR_API_KEY
and SPOOR_TEST_CONTROL.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from spoor_client import Spoor
from tests.faults import FaultyWay

settings.register_profile("short", deadline=None, max_examples=40, database=None)
settings.register_profile("long", deadline=None, max_examples=300, database=None)

_VARIABLES = ("SPOOR_URL", "SPOOR_API_KEY", "SPOOR_TEST_CONTROL")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also what takes minutes")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("long" if config.getoption("--long") else "short")
    missing = [name for name in _VARIABLES if not os.environ.get(name)]
    if missing:
        raise pytest.UsageError(f"{', '.join(missing)} must be set: npm run test:python does it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


class Server:
    """The tests' spoor server, which they may stop and start."""

    url = os.environ.get("SPOOR_URL", "")
    key = os.environ.get("SPOOR_API_KEY", "")

    def kill(self) -> None:
        self._control("SIGKILL")

    def stop(self) -> None:
        self._control("SIGTERM")

    def start(self) -> None:
        self._control("start")

    def command(self, *words: str) -> Any:
        """Returns the output of a spoor command."""
        return json.loads(self._control("run", json.dumps(words).encode()))

    def _control(self, what: str, body: bytes = b"") -> bytes:
        request = urllib.request.Request(f"{os.environ['SPOOR_TEST_CONTROL']}/{what}", body, method="POST")
        return bytes(urllib.request.urlopen(request, timeout=120).read())

    def stored(self, tag: str) -> list[Any]:
        """Returns the summaries of all traces with this tag, read by a new client."""
        return list(Spoor(self.url, self.key, spool=False).traces.all(tag=tag))


@pytest.fixture(scope="session")
def server() -> Server:
    return Server()


@pytest.fixture
def tag() -> str:
    """Returns a tag for one test's traces."""
    return uuid.uuid4().hex


@pytest.fixture
def client(server: Server, tmp_path: Path) -> Iterator[Spoor]:
    client = Spoor(server.url, server.key, spool=tmp_path / "spool")
    yield client
    client.leave(1)


@pytest.fixture
def read(client: Spoor) -> Callable[[Any], Any]:
    """Waits until everything is sent, and reads a trace."""

    def read(step: Any) -> Any:
        result = client.flush(20)
        assert result.is_complete, result
        return client.traces.get(step.trace.id)

    return read


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(server: Server, tmp_path: Path) -> Run:
    """Runs a program in a separate process, in the test's folder."""

    def run(program: str, *parameters: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *parameters],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture(scope="session")
def provider() -> Iterator[Any]:
    """Returns the facts of a fake provider on this machine, which imitates OpenAI and Anthropic (test/provider)."""
    program = Path(__file__).parents[3] / "build" / "test" / "provider" / "main.js"
    process = subprocess.Popen(["node", str(program)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())
    process.kill()
    process.communicate()


def has_used(provider: Any, used: Any, times: int = 1) -> bool:
    """Returns whether these are the token counts of this number of the provider's responses."""
    said = provider["chatUsage"]
    return bool(used == {f"{name}Tokens": times * said[name] for name in ("input", "output", "total")})


@pytest.fixture(scope="session")
def openapi(server: Server) -> Any:
    """Returns the server's OpenAPI document."""
    with urllib.request.urlopen(f"{server.url}/api/v1/openapi.json") as response:
        return json.load(response)


@pytest.fixture
def way(server: Server) -> Iterator[FaultyWay]:
    way = FaultyWay(server.url)
    yield way
    way.close()
