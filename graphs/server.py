"""What Hearsay adds to `langgraph dev`: the published methods as assistants, and no entry for strangers' web pages.

langgraph.json names `app`. The server has no password unless graphs/auth.py is switched on (docs/server.md), and any
page that is open in a browser may send requests to 127.0.0.1: those that come from other origins than Studio and this
machine are refused.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from graphs import assistants

ORIGINS = re.compile(r"https://([a-z]+\.)?smith\.langchain\.com|https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
"""Whose pages may talk to the server."""


class KnownOrigins:
    """Refuses what a browser sends for a page of another origin; other clients name none."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403."""
        origin = Headers(scope=scope).get("origin") if scope["type"] in ("http", "websocket") else None
        if origin is None or ORIGINS.fullmatch(origin):
            await self.app(scope, receive, send)
        else:
            detail = "pages of this origin may not use the server: see ORIGINS in graphs/server.py"
            await JSONResponse({"detail": detail}, status_code=403)(scope, receive, send)


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Make the assistants when the server has started."""
    await assistants.create(get_client())
    yield


app = Starlette(lifespan=lifespan, middleware=[Middleware(KnownOrigins)])
