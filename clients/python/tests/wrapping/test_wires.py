"""
Sends each recorded exchange (test/fixtures/wires) through the provider's own library, and checks the stored step. The
client for TypeScript has the same test.
"""

from __future__ import annotations

import contextlib
import gc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.config
import pytest
from anthropic import Anthropic
from google import genai
from ollama import Client as Ollama
from openai import OpenAI

from spoor_client import Spoor
from tests.conftest import Server
from tests.wrapping.wires import (
    CLOSED_EVENTS,
    EVENTS,
    LINES,
    MESSAGES,
    Framing,
    WireServer,
    check,
    exchanges,
    mistral_client,
)


@dataclass
class Wire:
    """A server that speaks a provider's wire, and a call of the provider's library that uses it."""

    server: WireServer
    call: Callable[[Any], Any]


def _openai(spoor: Spoor, url: str) -> OpenAI:
    return spoor.wrap_openai(OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0))


def _chat(spoor: Spoor, url: str) -> Callable[[Any], Any]:
    openai = _openai(spoor, url)
    return lambda request: openai.chat.completions.create(**request)


def _responses(spoor: Spoor, url: str) -> Callable[[Any], Any]:
    openai = _openai(spoor, url)
    return lambda request: openai.responses.create(**request)


def _messages(spoor: Spoor, url: str) -> Callable[[Any], Any]:
    anthropic = spoor.wrap_anthropic(Anthropic(base_url=url, api_key="none", max_retries=0))
    return lambda request: anthropic.messages.create(**request)


def _google(spoor: Spoor, url: str) -> Callable[[Any], Any]:
    options = genai.types.HttpOptions(base_url=url)
    google: Any = spoor.wrap_google_genai(genai.Client(api_key="none", http_options=options))
    # The library closes its connections when the client is freed.
    return _by_stream(
        lambda **request: google.models.generate_content(**request),
        lambda **request: google.models.generate_content_stream(**request),
    )


def _mistral(spoor: Spoor, url: str) -> Callable[[Any], Any]:
    chat: Any = spoor.wrap_mistral(mistral_client(url)).chat
    return _by_stream(chat.complete, chat.stream)


def _ollama(spoor: Spoor, url: str) -> Callable[[Any], Any]:
    ollama: Any = spoor.wrap_ollama(Ollama(host=url))
    return lambda request: ollama.chat(**request)


def _bedrock(spoor: Spoor, url: str) -> Callable[[Any], Any]:
    config = botocore.config.Config(retries={"total_max_attempts": 1})
    bedrock: Any = spoor.wrap_bedrock(
        boto3.client(
            "bedrock-runtime",
            region_name="eu-central-1",
            endpoint_url=url,
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=config,
        )
    )
    return _by_stream(bedrock.converse, lambda **request: bedrock.converse_stream(**request)["stream"])


def _by_stream(whole: Callable[..., Any], stream: Callable[..., Any]) -> Callable[[Any], Any]:
    """Some libraries have a separate method for streams."""

    def call(request: Any) -> Any:
        rest = {name: value for name, value in request.items() if name != "stream"}
        return stream(**rest) if request.get("stream") else whole(**rest)

    return call


WIRES: dict[str, tuple[Framing, Callable[[Spoor, str], Callable[[Any], Any]]]] = {
    "openai-chat": (CLOSED_EVENTS, _chat),
    "openai-responses": (EVENTS, _responses),
    "anthropic": (EVENTS, _messages),
    "google-genai": (EVENTS, _google),
    "mistral": (CLOSED_EVENTS, _mistral),
    "ollama": (LINES, _ollama),
    "bedrock-converse": (MESSAGES, _bedrock),
}


@pytest.fixture(scope="module")
def spoor(server: Server) -> Iterator[Spoor]:
    spoor = Spoor(server.url, server.key, spool=False)
    yield spoor
    spoor.close()


@pytest.fixture(scope="module")
def wires(spoor: Spoor) -> Iterator[dict[str, Wire]]:
    made: dict[str, Wire] = {}
    for name, (framing, library) in WIRES.items():
        server = WireServer(framing)
        made[name] = Wire(server, library(spoor, server.url))
    yield made
    for wire in made.values():
        wire.server.close()


ROWS = [
    pytest.param(wire, exchange, id=f"{wire}: {exchange['name']}") for wire in WIRES for exchange in exchanges(wire)
]


@pytest.mark.parametrize(("name", "exchange"), ROWS)
def test_a_recorded_exchange(spoor: Spoor, wires: dict[str, Wire], name: str, exchange: Any) -> None:
    wire = wires[name]
    wire.server.exchange = exchange
    failure: Exception | None = None
    gc.disable()
    with spoor.trace("t") as trace, warnings.catch_warnings():
        warnings.filterwarnings("error", message="Pydantic")
        try:
            _use(wire.call(exchange["request"]), exchange)
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
