"""Records messages of Anthropic's library, synchronous or not, including those of `beta`."""

from __future__ import annotations

from typing import Any

from .calls import Client, Method, is_of_another_client, record_calls, record_derived, record_managers, resource_of
from .wires.messages import MessageReader, describe_message, read_message


def wrap_anthropic(client: Client, library: Any) -> None:
    if is_of_another_client(client, library, resource_of(library, "messages")):
        return
    for path in ("messages", "beta.messages"):
        resource = resource_of(library, path)
        record_calls(client, resource, ("create", "parse"), MESSAGES)
        record_managers(client, resource, ("stream",), MESSAGES)
    record_derived(client, library, ("copy", "with_options"), wrap_anthropic)


MESSAGES = Method(
    name="anthropic.messages",
    provider="anthropic",
    kind="llm",
    input_names=("system", "messages"),
    describe=describe_message,
    read=read_message,
    reader=MessageReader,
)
