"""Records `converse` and `converse_stream` of boto3's client for Amazon Bedrock."""

from __future__ import annotations

from typing import Any

from .calls import Client, Method, is_client, is_of_another_client, record_calls
from .wires.converse import ConverseReader, describe_converse, read_converse


def wrap_bedrock(client: Client, library: Any) -> None:
    if not is_client(client, library, "converse", "wrap_bedrock", 'boto3.client("bedrock-runtime")'):
        return
    if not is_of_another_client(client, library):
        record_calls(client, library, ("converse", "converse_stream"), _CONVERSE)


_CONVERSE = Method(
    name="bedrock.converse",
    provider="aws.bedrock",
    kind="llm",
    input_names=("messages", "system"),
    describe=describe_converse,
    read=read_converse,
    reader=ConverseReader,
    model_name="modelId",
)
