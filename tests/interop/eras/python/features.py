"""Uses the features of ../era_features.ts of the servers behind a gateway.

Reads {"url": ..., "era": "legacy" | "modern", "checks": [{"server": ..., "check": ...}, ...]} from standard input, and writes the
outcome of each check as a line with a JSON string: "yes" or an error.
"""
import asyncio
import json
import sys

LIMIT_SECONDS = 15
MODES = {"legacy": "legacy", "modern": "2026-07-28"}


class Updates:
    """Brings updates of resources to those who wait for them."""

    def __init__(self):
        self.seen = set()

    def report(self, uri):
        self.seen.add(str(uri))


async def tools(client, server):
    names = await client.tool_names()
    return f"{server}_echo" in names and await client.call(f"{server}_echo", {"text": "hi"}) == "hi"


async def resources(client, server):
    uri = f"{server}+note://one"
    return uri in await client.resource_uris() and await client.read(uri) == "one"


async def prompts(client, server):
    name = f"{server}_greet"
    return name in await client.prompt_names() and await client.prompt(name, {"name": "Ada"}) == "Hello Ada"


async def elicitation(client, server):
    return await client.call(f"{server}_ask") == "forty-two"


async def sampling(client, server):
    return await client.call(f"{server}_sample") == "from the model"


async def progress(client, server):
    seen = []
    await client.call(f"{server}_count", on_progress=seen.append)
    return seen == [1, 2, 3]


async def cancel(client, server):
    before = await client.call(f"{server}_cancelled")
    await client.cancel(f"{server}_wait")
    while await client.call(f"{server}_cancelled") == before:
        await asyncio.sleep(0.05)
    return True


async def subscription(client, server):
    uri = f"{server}+note://one"
    client.updates.seen.discard(uri)
    async with client.subscribed(uri):
        # The stream from the server opens after the answer to the subscription.
        while uri not in client.updates.seen:
            await client.call(f"{server}_touch")
            await asyncio.sleep(0.05)
    return True


async def task(client, server):
    return await client.run_task(f"{server}_work") == "done"


async def awaited(client, server):
    return await client.call(f"{server}_work") == "done"


async def resumption(client, server):
    return await client.call(f"{server}_resume") == "resumed"


CHECKS = {
    check.__name__: check
    for check in (
        tools, resources, prompts, elicitation, sampling, progress, cancel, subscription, task, awaited, resumption
    )
}


async def outcome_of(client, check, server):
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            return "yes" if await CHECKS[check](client, server) else "another result"
    except TimeoutError:
        return "timed out"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def cancel_after_progress(call):
    """Cancels a call when it has reached the server, as its progress shows. `call` takes a callback for progress."""
    started = asyncio.Event()
    running = asyncio.create_task(call(lambda _: started.set()))
    await started.wait()
    running.cancel()
    await asyncio.wait([running])


def run(connect):
    """Runs the program; `connect(url, mode)` is an asynchronous context manager with a client."""
    request = json.load(sys.stdin)

    async def main():
        async with connect(request["url"], MODES[request["era"]]) as client:
            for each in request["checks"]:
                print(json.dumps(await outcome_of(client, each["check"], each["server"])), flush=True)

    asyncio.run(main())
