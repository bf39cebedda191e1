"""ASGI middleware (FastAPI, Starlette): `app.add_middleware(Traced)`."""

import spoor_client as spoor


class Traced:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_with_id(message):
            if message["type"] == "http.response.start":
                trace.set_metadata({"status": message["status"]})
                headers = [*message["headers"], (b"x-trace-id", trace.id.encode())]
                message = {**message, "headers": headers}
            await send(message)

        # A streamed response is sent inside the trace, which ends after the last part.
        parent, path = spoor.from_headers(scope["headers"]), scope["path"]
        async with spoor.trace("request", parent=parent, input=path) as trace:
            await self.app(scope, receive, send_with_id)
