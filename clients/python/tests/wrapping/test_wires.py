"""
Sends each recorded exchange (test/fixtures/wires) through the provider's own library, and checks the stored step. The
client for TypeScript has the same test.
"""

from __future__ import annotations

import contextlib
import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI

from spoor_client import Spoor
from tests.conftest import Server
from tests.wrapping.wires import WireServer, check, exchanges

Call = Callable[["Libraries", Any], Any]


class Libraries:
    """The providers' libraries with a server that speaks their wires, shared by all exchanges."""

    def __init__(self, spoor: Spoor, wire: WireServer) -> None:
        self.spoor = spoor
        self.wire = wire
        self.openai = spoor.wrap_openai(OpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0))
        self.anthropic = spoor.wrap_anthropic(Anthropic(base_url=wire.url, api_key="none", max_retries=0))


@pytest.fixture(scope="module")
def libraries(server: Server) -> Iterator[Libraries]:
    wire = WireServer()
    spoor = Spoor(server.url, server.key, spool=False)
    yield Libraries(spoor, wire)
    spoor.close()
    wire.close()


WIRES: dict[str, Call] = {
    "openai-chat": lambda libraries, request: libraries.openai.chat.completions.create(**request),
    "openai-responses": lambda libraries, request: libraries.openai.responses.create(**request),
    "anthropic": lambda libraries, request: libraries.anthropic.messages.create(**request),
}
ROWS = [
    pytest.param(call, exchange, id=f"{wire}: {exchange['name']}")
    for wire, call in WIRES.items()
    for exchange in exchanges(wire)
]


@pytest.mark.parametrize(("call", "exchange"), ROWS)
def test_a_recorded_exchange(libraries: Libraries, call: Call, exchange: Any) -> None:
    spoor = libraries.spoor
    libraries.wire.exchange = exchange
    failure: Exception | None = None
    gc.disable()
    with spoor.trace("t") as trace, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            _use(call(libraries, exchange["request"]), exchange)
        except Exception as error:
            failure = error
    gc.enable()
    assert spoor.flush(20).is_complete
    (span,) = spoor.traces.get(trace.id)["spans"]
    check(span, exchange["expected"])
    if failure is not None and not isinstance(failure, (ValueError, TypeError, AttributeError)):
        # What the library raises is recorded.
        assert span["status"] == "error"


def _use(result: Any, exchange: Any) -> None:
    if not exchange["request"].get("stream"):
        return
    for number, _ in enumerate(result, 1):
        if number == exchange.get("leaveAfter"):
            break
    with contextlib.suppress(NameError):
        del result
