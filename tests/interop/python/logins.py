"""Runs logins of one client: each line of the input is a JSON object with `id`, `url` and perhaps `client_id` or
`client_metadata_url`, and each line of the output one with the `id` and `outcome`: "logged in", "refreshed" or the error.
"""
import asyncio
import json
import sys

CONCURRENCY = 4
TIMEOUT_S = 60


async def _log_in(connect, url, refresh=False, **identity):
    async with connect(url, **identity) as (call_tool, context):
        await call_tool("echo", {"message": "hello"})
        if not refresh:
            return "logged in"
        before = context.current_tokens.access_token
        # The client refreshes tokens that it believes to have expired.
        context.token_expiry_time = 1
        await call_tool("echo", {"message": "again"})
        if context.current_tokens.access_token == before:
            return "did not refresh"
        return "refreshed"


def _describe(error):
    """Names the errors inside of groups, which asyncio makes of every error of a task."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_describe(inner) for inner in error.exceptions)
    return f"{type(error).__name__}: {error}"


async def _run_all(connect, lines):
    free = asyncio.Semaphore(CONCURRENCY)

    async def run_one(id, **login):
        async with free:
            try:
                outcome = await asyncio.wait_for(_log_in(connect, **login), TIMEOUT_S)
            except Exception as error:
                outcome = _describe(error)
        print(json.dumps({"id": id, "outcome": outcome}), flush=True)

    await asyncio.gather(*(run_one(**json.loads(line)) for line in lines))


def run(connect):
    """`connect(url, client_id, client_metadata_url)` is a context with a function that calls a tool, and the login's context."""
    asyncio.run(_run_all(connect, sys.stdin.readlines()))
