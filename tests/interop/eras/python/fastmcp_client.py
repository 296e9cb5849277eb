"""The client of FastMCP; see `features.py` for input and output."""
import asyncio
from contextlib import asynccontextmanager

import fastmcp
from fastmcp_tasks import call_tool_task
from mcp.client.subscriptions import listen
from mcp_types import CreateMessageResult, TextContent

from features import MODES, Updates, cancel_after_progress, run
from mcp2_client import receiver


class Client:
    def __init__(self, client, mode, updates):
        self.client = client
        self.mode = mode
        self.updates = updates

    async def tool_names(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def resource_uris(self):
        return [str(each.uri) for each in await self.client.list_resources()]

    async def prompt_names(self):
        return [prompt.name for prompt in await self.client.list_prompts()]

    async def call(self, name, arguments=None, on_progress=None):
        async def report(progress, total, message):
            on_progress(progress)

        result = await self.client.call_tool(
            name, arguments or {}, progress_handler=report if on_progress else None
        )
        return result.content[0].text

    async def cancel(self, name):
        async def call(on_progress):
            await self.call(name, on_progress=on_progress)

        await cancel_after_progress(call)

    async def read(self, uri):
        return (await self.client.read_resource(uri))[0].text

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    @asynccontextmanager
    async def subscribed(self, uri):
        session = self.client.session
        if self.mode == MODES["legacy"]:
            await session.subscribe_resource(uri)
            yield
            await session.unsubscribe_resource(uri)
            return
        async with listen(session, resource_subscriptions=[uri]) as subscription:

            async def follow():
                async for event in subscription:
                    self.updates.report(event.uri)

            following = asyncio.create_task(follow())
            yield
            following.cancel()

    async def run_task(self, name):
        task = await call_tool_task(self.client, name, {})
        return (await task.result()).content[0].text


@asynccontextmanager
async def connect(url, mode):
    updates = Updates()

    async def answer(message, response_type, params, context):
        return {"answer": "forty-two"}

    async def think(messages, params, context):
        return "from the model"

    async with fastmcp.Client(
        url, mode=mode, elicitation_handler=answer, sampling_handler=think, message_handler=receiver(updates)
    ) as client:
        yield Client(client, mode, updates)


run(connect)
