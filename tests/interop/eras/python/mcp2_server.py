"""The server of the official Python SDK 2.x, of both eras."""
import asyncio
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve, Sample
from mcp.server.streamable_http import EventMessage
from mcp_types import (
    CreateMessageResult,
    EmptyResult,
    SamplingMessage,
    SubscribeRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

from serving import EventLog, serve

EventLog.message_type = EventMessage
subscribers = set()
state = {"cancelled": 0}
server = MCPServer("py2")


class Answer(BaseModel):
    answer: str


def question() -> Elicit[Answer]:
    return Elicit("What is the answer?", Answer)


def thought() -> Sample:
    content = TextContent(type="text", text="Think")
    return Sample([SamplingMessage(role="user", content=content)], max_tokens=10)


@server.tool()
def echo(text: str) -> str:
    return text


@server.resource("note://one", name="one")
def one() -> str:
    return "one"


@server.prompt()
def greet(name: str) -> str:
    return f"Hello {name}"


@server.tool()
async def ask(answer: Annotated[Answer, Resolve(question)]) -> str:
    return answer.answer


@server.tool()
async def sample(message: Annotated[CreateMessageResult, Resolve(thought)]) -> str:
    return message.content.text


@server.tool()
async def count(ctx: Context) -> str:
    for number in (1, 2, 3):
        await ctx.report_progress(number)
    return "counted"


@server.tool()
async def resume(ctx: Context) -> str:
    await ctx.report_progress(1)
    await asyncio.sleep(0.8)
    return "resumed"


@server.tool()
async def wait(ctx: Context) -> str:
    await ctx.report_progress(1)
    try:
        await anyio.sleep_forever()
    finally:
        state["cancelled"] += 1


@server.tool()
def cancelled() -> str:
    return str(state["cancelled"])


async def subscribe(ctx, params):
    subscribers.add((ctx.session, str(params.uri)))
    return EmptyResult()


async def unsubscribe(ctx, params):
    subscribers.discard((ctx.session, str(params.uri)))
    return EmptyResult()


@server.tool()
async def touch(ctx: Context) -> str:
    await ctx.notify_resource_updated("note://one")
    for session, uri in list(subscribers):
        try:
            await session.send_resource_updated(uri)
        except Exception:  # the session has ended
            subscribers.discard((session, uri))
    return "touched"


lowlevel = server._lowlevel_server
lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
lowlevel.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
serve(server.streamable_http_app(event_store=EventLog()))
