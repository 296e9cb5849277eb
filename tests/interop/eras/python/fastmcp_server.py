"""The server of FastMCP, of both eras."""
import asyncio

import anyio
from fastmcp import Context, FastMCP
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from mcp.server.streamable_http import EventMessage
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

from serving import EventLog, serve

EventLog.message_type = EventMessage
state = {"cancelled": 0}
server = FastMCP("fastmcp")
server.add_extension(TasksExtension())


class Answer(BaseModel):
    answer: str


@server.tool
def echo(text: str) -> str:
    return text


@server.resource("note://one", name="one")
def one() -> str:
    return "one"


@server.prompt
def greet(name: str) -> str:
    return f"Hello {name}"


def is_modern(ctx):
    return ctx.request_context.protocol_version == "2026-07-28"


@server.tool
async def ask(ctx: Context) -> str | InputRequiredResult:
    if not is_modern(ctx):
        return (await ctx.elicit("What is the answer?", Answer)).data.answer
    if ctx.input_responses is not None:
        return ctx.input_responses["answer"].content["answer"]
    form = ElicitRequestFormParams(
        message="What is the answer?", requested_schema={"type": "object", "properties": {"answer": {"type": "string"}}}
    )
    return InputRequiredResult(input_requests={"answer": ElicitRequest(params=form)})


@server.tool
async def sample(ctx: Context) -> str | InputRequiredResult:
    messages = [SamplingMessage(role="user", content=TextContent(type="text", text="Think"))]
    if not is_modern(ctx):
        result = await ctx.session.create_message(messages, max_tokens=10, related_request_id=ctx.request_id)
        return result.content.text
    if ctx.input_responses is not None:
        return ctx.input_responses["answer"].content.text
    params = CreateMessageRequestParams(messages=messages, max_tokens=10)
    return InputRequiredResult(input_requests={"answer": CreateMessageRequest(params=params)})


@server.tool
async def count(ctx: Context) -> str:
    for number in (1, 2, 3):
        await ctx.report_progress(number)
    return "counted"


@server.tool
async def resume(ctx: Context) -> str:
    await ctx.report_progress(1)
    await asyncio.sleep(0.8)
    return "resumed"


@server.tool
async def wait(ctx: Context) -> str:
    await ctx.report_progress(1)
    try:
        await anyio.sleep_forever()
    finally:
        state["cancelled"] += 1


@server.tool
def cancelled() -> str:
    return str(state["cancelled"])


@server.tool(task=TaskConfig(mode="required"))
async def work() -> str:
    await asyncio.sleep(0.1)
    return "done"


serve(server.http_app(event_store=EventLog()))
