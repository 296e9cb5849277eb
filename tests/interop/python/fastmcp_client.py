"""Logs in at MCP servers with FastMCP; see `logins.py` for input and output."""
from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.auth import OAuth
from login_pages import User
from logins import run
from mcp.client.auth import AuthorizationCodeResult

PORT = 41998


class HeadlessOAuth(OAuth):
    """The client's own flow, with a user who needs no browser."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, callback_port=PORT, **settings)
        self.user = User(f"http://localhost:{PORT}/callback")

    async def redirect_handler(self, authorization_url):
        await self.user.open(authorization_url)

    async def callback_handler(self):
        code, state, issuer = self.user.answer()
        return AuthorizationCodeResult(code=code, state=state, iss=issuer)


@asynccontextmanager
async def connect(url, client_id=None, client_metadata_url=None):
    auth = HeadlessOAuth(url, client_id=client_id, client_metadata_url=client_metadata_url)
    async with Client(url, auth=auth) as client:
        yield client.call_tool, auth.context


run(connect)
