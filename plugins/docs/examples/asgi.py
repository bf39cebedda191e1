"""Middleware for ASGI, as FastAPI and Starlette have it: `app.add_middleware(Traced)`."""

import spoor


class Traced:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_with_id(message):
            if message["type"] == "http.response.start":
                trace.set_metadata({"status": message["status"]})
                message = {**message, "headers": [*message["headers"], (b"x-trace-id", trace.id.encode())]}
            await send(message)

        # Streams are sent within it as well, so that it ends when the last part was sent.
        parent = spoor.from_headers(scope["headers"])
        async with spoor.trace("request", parent=parent, metadata={"path": scope["path"]}) as trace:
            await self.app(scope, receive, send_with_id)
