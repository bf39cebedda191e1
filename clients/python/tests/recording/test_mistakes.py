"""Mistakes in calls of the client do not stop the application. A sentence reports each, and says what is expected."""

from __future__ import annotations

import datetime
import decimal
import json
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spoor_client import Spoor
from spoor_client.clock import nanoseconds_of
from spoor_client.document import usage_of
from spoor_client.sending.scores import score_body


class Number:
    """A scalar such as those of numpy: an integer, or an object with `item`."""

    shape = ()

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        return self.value


class Library:
    """A client of another provider."""

    def invoke(self) -> None: ...


KINDS = "agent, chain, custom, embedding, llm, reranker, retriever, tool"


def use_span(client: Any, use: Callable[[Any], object]) -> None:
    with client.trace("t"), client.span("s") as span:
        use(span)


MISTAKES: dict[str, tuple[Callable[[Any], object], str]] = {
    "metadata that is a list": (
        lambda client: client.trace("t", metadata=[1]).end(),
        "metadata must be a dictionary, not list: it is not recorded",
    ),
    "metadata that is a string": (
        lambda client: client.trace("t", metadata="beta").end(),
        "metadata must be a dictionary, not str: it is not recorded",
    ),
    "attributes that are a number": (
        lambda client: use_span(client, lambda span: span.set_attributes(7)),
        "attributes must be a dictionary, not int: they are not recorded",
    ),
    "attributes of all spans that are a list": (
        lambda client: client.trace("t", span_attributes=["acme"]).end(),
        "span_attributes must be a dictionary, not list: they are not recorded",
    ),
    "attributes of an event that are a string": (
        lambda client: use_span(client, lambda span: span.add_event("e", "text")),
        "attributes must be a dictionary, not str: they are not recorded",
    ),
    "tags that are a number": (
        lambda client: client.trace("t", tags=5).end(),
        "tags must be a list of strings, not int: they are not recorded",
    ),
    "a kind": (
        lambda client: use_span(client, lambda span: span.start_span("x", kind="model").end()),
        f"kind must be one of {KINDS}, not 'model': custom is recorded instead",
    ),
    "a kind that is a list": (
        lambda client: use_span(client, lambda span: span.start_span("x", kind=["llm"]).end()),
        f"kind must be one of {KINDS}, not ['llm']: custom is recorded instead",
    ),
    "a later kind": (
        lambda client: use_span(client, lambda span: span.set_kind("model")),
        f"kind must be one of {KINDS}, not 'model'",
    ),
    "a status": (
        lambda client: client.trace("t").end(status="failed"),
        "status must be error, ok or unset, not 'failed'",
    ),
    "tokens that are a string": (
        lambda client: use_span(client, lambda span: span.set_usage(input_tokens="5")),
        "input_tokens must be an integer that is not negative, not '5': it is not recorded",
    ),
    "tokens that are negative": (
        lambda client: use_span(client, lambda span: span.set_usage(output_tokens=-1)),
        "output_tokens must be an integer that is not negative, not -1: it is not recorded",
    ),
    "tokens that are a fraction": (
        lambda client: use_span(client, lambda span: span.set_usage(total_tokens=1.5)),
        "total_tokens must be an integer that is not negative, not 1.5: it is not recorded",
    ),
    "a cost that is a string": (
        lambda client: use_span(client, lambda span: span.set_usage(cost_usd="$1")),
        "cost_usd must be a number that is not negative, not '$1': it is not recorded",
    ),
    "a cost that is not a number": (
        lambda client: use_span(client, lambda span: span.set_usage(cost_usd=float("nan"))),
        "cost_usd must be a number that is not negative, not nan: it is not recorded",
    ),
    "a usage with another provider's names": (
        lambda client: use_span(client, lambda span: span.set_usage(prompt_tokens=5)),
        "set_usage of 's' failed: TypeError: Step.set_usage() got an unexpected keyword argument 'prompt_tokens'",
    ),
    "a parent that is a string": (
        lambda client: client.trace("t", parent="00-0af7").end(),
        "parent must be a result of from_headers, not str: the trace has no parent",
    ),
    "a parent that is a request's headers": (
        lambda client: client.trace("t", parent={"traceparent": "00"}).end(),
        "parent must be a result of from_headers, not dict: the trace has no parent",
    ),
    "a time that is a date": (
        lambda client: client.trace("t", started_at=datetime.date(2026, 11, 26)).end(),
        "started_at must be a datetime, ISO 8601, or seconds or milliseconds since 1970, not "
        "datetime.date(2026, 11, 26): the time of the call is recorded instead",
    ),
    "the client of another provider": (
        lambda client: client.wrap_openai(Library()),
        "wrap_openai records nothing: it takes a client such as OpenAI(), not Library",
    ),
    "the client of another provider for Anthropic": (
        lambda client: client.wrap_anthropic(Library()),
        "wrap_anthropic records nothing: it takes a client such as Anthropic(), not Library",
    ),
    "the client of another provider for Google": (
        lambda client: client.wrap_google_genai(Library()),
        "wrap_google_genai records nothing: it takes a client such as genai.Client(), not Library",
    ),
    "the client of another provider for Mistral": (
        lambda client: client.wrap_mistral(Library()),
        "wrap_mistral records nothing: it takes a client such as Mistral(), not Library",
    ),
    "the client of another provider for Ollama": (
        lambda client: client.wrap_ollama(Library()),
        "wrap_ollama records nothing: it takes a client such as ollama.Client(), not Library",
    ),
    "the client of another provider for Bedrock": (
        lambda client: client.wrap_bedrock({}),
        'wrap_bedrock records nothing: it takes a client such as boto3.client("bedrock-runtime"), not dict',
    ),
    "no client": (
        lambda client: client.wrap_openai(None),
        "wrap_openai records nothing: it takes a client such as OpenAI(), not None",
    ),
    "a class": (
        lambda client: client.wrap_openai(__import__("openai").OpenAI),
        "wrap_openai records nothing: it takes a client such as OpenAI(), not the class OpenAI",
    ),
    "a module": (
        lambda client: client.wrap_openai(types.ModuleType("openai")),
        "wrap_openai records nothing: it takes a client such as OpenAI(), not the module openai",
    ),
}


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def client(problems: list[str]) -> Iterator[Spoor]:
    client = Spoor("http://127.0.0.1:9", "key", spool=False, on_problem=problems.append)
    yield client
    client.leave(0)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_in_a_sentence(client: Spoor, problems: list[str], mistake: str) -> None:
    make, sentence = MISTAKES[mistake]
    make(client)
    assert problems == [sentence]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sample_rate": 10}, "sample_rate must be a number from 0 to 1, not 10: 1 is used"),
        ({"sample_rate": "half"}, "sample_rate must be a number from 0 to 1, not 'half': 1 is used"),
        ({"sample_rate": float("nan")}, "sample_rate must be a number from 0 to 1, not nan: 1 is used"),
        ({"sample_rate": None}, "sample_rate must be a number from 0 to 1, not None: 1 is used"),
        ({"memory_bytes": "32 MiB"}, "memory_bytes must be a positive number, not '32 MiB': 33554432 is used"),
        ({"spool_bytes": 0}, "spool_bytes must be a positive number, not 0: 268435456 is used"),
    ],
)
def test_an_option_that_cannot_be_used_is_reported(options: Any, sentence: str, tmp_path: Path) -> None:
    problems: list[str] = []
    client = Spoor("http://127.0.0.1:9", "key", spool=tmp_path, on_problem=problems.append, **options)
    client.trace("t").end()
    assert problems == [sentence]
    assert client.close(0).kept == 0
    assert len(list(tmp_path.glob("*.spoor"))) == 1


def test_numbers_are_accepted_as_strings_and_true_as_the_default_spool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPOOR_SPOOL", raising=False)
    options: Any = {"sample_rate": "0.5", "memory_bytes": "1000000"}
    client = Spoor("http://127.0.0.1:9", "key", spool=True, **options)
    assert client.sample_rate == 0.5
    client.close(0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: client_of(redact="hide"), "redact must be a function, not 'hide'"),
        (lambda: client_of(on_problem=[]), "on_problem must be a function, not []"),
        (lambda: client_of().observe("answer"), "observe takes a function, not 'answer': write observe(name=\"…\")"),
        (lambda: client_of().observe(classmethod(print)), "put @observe below @classmethod"),
        (lambda: client_of().evaluate("judge", name="n"), "judge must be a function, not 'judge'"),
    ],
    ids=["redact", "on_problem", "observe", "a class method", "evaluate"],
)
def test_a_mistake_that_shows_at_once_raises(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(TypeError) as raised:
        make()
    assert str(raised.value) == sentence


def client_of(**options: Any) -> Any:
    return Spoor("http://127.0.0.1:9", "key", spool=False, **options)


@pytest.mark.parametrize("key", [b"key", 5])
def test_a_key_that_is_not_a_string_records_nothing(key: Any) -> None:
    problems: list[str] = []
    client = Spoor("http://127.0.0.1:9", key, spool=False, on_problem=problems.append)
    client.trace("t").end()
    assert problems == [f"nothing is recorded: the key must be a string, not {type(key).__name__}"]


def test_scalars_of_other_libraries_are_numbers() -> None:
    assert usage_of({"inputTokens": Number(5), "outputTokens": 7.0}) == {"inputTokens": 5, "outputTokens": 7}
    assert json.loads(score_body("s", Number(True), None, None))["dataType"] == "boolean"  # type: ignore[arg-type]
    assert json.loads(score_body("s", decimal.Decimal("0.5"), None, None))["value"] == 0.5  # type: ignore[arg-type]
    assert nanoseconds_of(Number(1_000)) == 1_000_000_000_000  # type: ignore[arg-type]


def test_costs_may_be_decimals(client: Spoor) -> None:
    with client.trace("t") as trace:
        trace.set_usage(cost_usd=decimal.Decimal("0.25"))  # type: ignore[arg-type]
        assert trace.usage == ({}, 0.25)
