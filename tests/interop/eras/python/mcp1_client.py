"""The client of the official Python SDK 1.x; see `features.py` for input and output."""
from contextlib import asynccontextmanager

from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import (
    CallToolResult,
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    CreateMessageResult,
    ElicitResult,
    ResourceUpdatedNotification,
    TextContent,
)
from pydantic import AnyUrl

from features import Updates, cancel_after_progress, run


class Client:
    def __init__(self, session, updates):
        self.session = session
        self.updates = updates

    async def tool_names(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def resource_uris(self):
        return [str(each.uri) for each in (await self.session.list_resources()).resources]

    async def prompt_names(self):
        return [prompt.name for prompt in (await self.session.list_prompts()).prompts]

    async def call(self, name, arguments=None, on_progress=None):
        async def report(progress, total, message):
            on_progress(progress)

        result = await self.session.call_tool(
            name, arguments or {}, progress_callback=report if on_progress else None
        )
        return result.content[0].text

    async def cancel(self, name):
        async def call(on_progress):
            await self.call(name, on_progress=on_progress)

        # The SDK does not tell the server by itself.
        request_id = self.session._request_id
        await cancel_after_progress(call)
        cancelled = CancelledNotification(params=CancelledNotificationParams(requestId=request_id))
        await self.session.send_notification(ClientNotification(cancelled))

    async def read(self, uri):
        return (await self.session.read_resource(AnyUrl(uri))).contents[0].text

    async def prompt(self, name, arguments):
        return (await self.session.get_prompt(name, arguments)).messages[0].content.text

    @asynccontextmanager
    async def subscribed(self, uri):
        await self.session.subscribe_resource(AnyUrl(uri))
        yield
        await self.session.unsubscribe_resource(AnyUrl(uri))

    async def run_task(self, name):
        created = await self.session.experimental.call_tool_as_task(name, {})
        async for status in self.session.experimental.poll_task(created.task.taskId):
            last = status
        result = await self.session.experimental.get_task_result(last.taskId, CallToolResult)
        return result.content[0].text


@asynccontextmanager
async def connect(url, mode):
    updates = Updates()

    async def answer(context, params):
        return ElicitResult(action="accept", content={"answer": "forty-two"})

    async def think(context, params):
        content = TextContent(type="text", text="from the model")
        return CreateMessageResult(role="assistant", content=content, model="test")

    async def receive(message):
        root = getattr(message, "root", None)
        if isinstance(root, ResourceUpdatedNotification):
            updates.report(root.params.uri)

    async with streamablehttp_client(url) as (read, write, _):
        async with ClientSession(
            read, write, elicitation_callback=answer, sampling_callback=think, message_handler=receive
        ) as session:
            await session.initialize()
            yield Client(session, updates)


run(connect)
