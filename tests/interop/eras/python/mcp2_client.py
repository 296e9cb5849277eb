"""The client of the official Python SDK 2.x; see `features.py` for input and output."""
import asyncio
from contextlib import asynccontextmanager

from features import MODES, Updates, cancel_after_progress, run
from mcp.client.client import Client as SdkClient
from mcp_types import CreateMessageResult, ElicitResult, ResourceUpdatedNotification, TextContent


class Client:
    def __init__(self, client, mode, updates):
        self.client = client
        self.mode = mode
        self.updates = updates

    async def tool_names(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def resource_uris(self):
        return [str(each.uri) for each in (await self.client.list_resources()).resources]

    async def prompt_names(self):
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def call(self, name, arguments=None, on_progress=None):
        async def report(progress, total, message):
            on_progress(progress)

        result = await self.client.call_tool(
            name, arguments or {}, progress_callback=report if on_progress else None
        )
        return result.content[0].text

    async def cancel(self, name):
        async def call(on_progress):
            await self.call(name, on_progress=on_progress)

        await cancel_after_progress(call)

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents[0].text

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    @asynccontextmanager
    async def subscribed(self, uri):
        if self.mode == MODES["legacy"]:
            await self.client.subscribe_resource(uri)
            yield
            await self.client.unsubscribe_resource(uri)
            return
        async with self.client.listen(resource_subscriptions=[uri]) as subscription:

            async def follow():
                async for event in subscription:
                    self.updates.report(event.uri)

            following = asyncio.create_task(follow())
            yield
            following.cancel()


async def answer(context, params):
    return ElicitResult(action="accept", content={"answer": "forty-two"})


async def think(context, params):
    content = TextContent(type="text", text="from the model")
    return CreateMessageResult(role="assistant", content=content, model="test")


def receiver(updates):
    async def receive(message):
        if isinstance(message, ResourceUpdatedNotification):
            updates.report(message.params.uri)

    return receive


@asynccontextmanager
async def connect(url, mode):
    updates = Updates()
    async with SdkClient(
        url, mode=mode, elicitation_callback=answer, sampling_callback=think, message_handler=receiver(updates)
    ) as client:
        yield Client(client, mode, updates)


if __name__ == "__main__":
    run(connect)
