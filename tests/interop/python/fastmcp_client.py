"""Logs in at an MCP server with FastMCP and prints the names of its tools as JSON.

Usage: fastmcp_client.py URL [CLIENT_ID]
"""
import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.auth import OAuth
from login_pages import User
from mcp.client.auth import AuthorizationCodeResult

PORT = 41998


class HeadlessOAuth(OAuth):
    """The client's own flow, with a user who needs no browser."""

    user = User(f"http://localhost:{PORT}/callback")

    async def redirect_handler(self, authorization_url):
        await self.user.open(authorization_url)

    async def callback_handler(self):
        code, state, issuer = self.user.answer()
        return AuthorizationCodeResult(code=code, state=state, iss=issuer)


async def main(url, client_id=None):
    auth = HeadlessOAuth(url, callback_port=PORT, client_id=client_id)
    async with Client(url, auth=auth) as client:
        print(json.dumps([tool.name for tool in await client.list_tools()]))


asyncio.run(main(*sys.argv[1:]))
