"""Servers in Python that say which tool or model they found: the MCP SDK, FastAPI, and FastAPI with a model of Pydantic.

Prints {"mcp": port, "fastapi": port, "pydantic": port} and ends with its standard input.
"""

import asyncio
import base64
import json
import logging
import socket
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import TextContent
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Mount


def saw(name: object, argument: object = None) -> str:
    text = json.dumps([name, argument])
    return f"saw:{base64.b64encode(text.encode()).decode()}:"


def mcp_app() -> Starlette:
    server: Server = Server("python")

    @server.call_tool(validate_input=False)
    async def call(name: str, arguments: dict[str, Any]) -> list[TextContent]:
        return [TextContent(type="text", text=saw(name, arguments.get("n")))]

    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    return Starlette(
        routes=[Mount("/mcp", app=manager.handle_request)],
        lifespan=lambda _: manager.run(),
    )


def fastapi_app() -> FastAPI:
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def chat(request: Request) -> Response:
        body = await request.json()
        model = body.get("model") if isinstance(body, dict) else None
        return Response(saw(model) if isinstance(model, str) else "")

    return app


class Chat(BaseModel):
    model: str
    stream: bool = False


def pydantic_app() -> FastAPI:
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def chat(body: Chat) -> Response:
        return Response(saw(body.model))

    return app


async def main() -> None:
    apps = {"mcp": mcp_app(), "fastapi": fastapi_app(), "pydantic": pydantic_app()}
    ports, running = {}, []
    for name, app in apps.items():
        listener = socket.create_server(("127.0.0.1", 0))
        ports[name] = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        running.append(asyncio.create_task(server.serve(sockets=[listener])))
    print(json.dumps(ports), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in running:
        task.cancel()


logging.disable(logging.CRITICAL)
asyncio.run(main())
