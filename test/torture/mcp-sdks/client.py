"""Lists the tools with Python's SDK, calls those named in the arguments, and reads the guide. Prints JSON."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['SPOOR_API_KEY']}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        streamable_http_client(os.environ["ENDPOINT"], http_client=http) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        results = {}
        for name in sys.argv[1:]:
            result = await session.call_tool(name, {})
            results[name] = {
                "isError": bool(getattr(result, "is_error", None) or getattr(result, "isError", False)),
                "text": result.content[0].text,
            }
        guide = await session.read_resource("spoor://guide")
        print(json.dumps({"tools": tools, "results": results, "guide": guide.contents[0].text}))


asyncio.run(main())
