"""The server of the official Python SDK 1.x, with sessions."""
import asyncio

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.streamable_http import EventMessage
from mcp.types import CallToolResult, SamplingMessage, TextContent, Tool, ToolExecution
from pydantic import AnyUrl, BaseModel

from serving import EventLog, serve

EventLog.message_type = EventMessage
subscribers = set()
state = {"cancelled": 0}


class Answer(BaseModel):
    answer: str


class Server(FastMCP):
    """Adds the tool `work`, which runs as a task; FastMCP has none of its own."""

    async def list_tools(self):
        tools = await super().list_tools()
        work = Tool(
            name="work", inputSchema={"type": "object"}, execution=ToolExecution(taskSupport="required")
        )
        return [*tools, work]

    async def call_tool(self, name, arguments):
        if name != "work":
            return await super().call_tool(name, arguments)
        context = self._mcp_server.request_context
        context.experimental.validate_task_mode("required")

        async def work(task):
            await asyncio.sleep(0.1)
            return CallToolResult(content=[TextContent(type="text", text="done")])

        return await context.experimental.run_task(work)


server = Server("py1", event_store=EventLog())
server._mcp_server.experimental.enable_tasks()


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
async def ask(ctx: Context) -> str:
    result = await ctx.elicit("What is the answer?", Answer)
    return result.data.answer


@server.tool()
async def sample(ctx: Context) -> str:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Think"))
    result = await ctx.session.create_message([message], max_tokens=10, related_request_id=ctx.request_id)
    return result.content.text


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


@server._mcp_server.subscribe_resource()
async def subscribe(uri):
    subscribers.add((server._mcp_server.request_context.session, str(uri)))


@server._mcp_server.unsubscribe_resource()
async def unsubscribe(uri):
    subscribers.discard((server._mcp_server.request_context.session, str(uri)))


@server.tool()
async def touch() -> str:
    for session, uri in list(subscribers):
        try:
            await session.send_resource_updated(AnyUrl(uri))
        except anyio.ClosedResourceError:
            subscribers.discard((session, uri))
    return "touched"


serve(server.streamable_http_app())
