"""Records messages of Anthropic's library, synchronous or not, including those of `beta`."""

from __future__ import annotations

from typing import Any

from .calls import (
    Client,
    Method,
    is_client,
    is_of_another_client,
    record_calls,
    record_derived,
    record_managers,
    record_when_used,
    resource_of,
)
from .wires.messages import MessageReader, describe_message, read_message


def wrap_anthropic(client: Client, library: Any) -> None:
    if not is_client(client, library, "messages.create", "wrap_anthropic", "Anthropic()"):
        return
    if is_of_another_client(client, library, resource_of(library, "messages")):
        return
    _record(client, resource_of(library, "messages"))
    record_when_used(library, {"beta": lambda beta: _record(client, resource_of(beta, "messages"))})
    record_derived(client, library, ("copy", "with_options"), wrap_anthropic)


def _record(client: Client, messages: Any) -> None:
    record_calls(client, messages, ("create", "parse"), MESSAGES)
    record_managers(client, messages, ("stream",), MESSAGES)


MESSAGES = Method(
    name="anthropic.messages",
    provider="anthropic",
    kind="llm",
    input_names=("system", "messages"),
    describe=describe_message,
    read=read_message,
    reader=MessageReader,
)
