"""Logs in at MCP servers with the official Python SDK, 1.x or 2.x; see `logins.py` for input and output."""
from contextlib import asynccontextmanager

from login_pages import REDIRECT_URI, User
from logins import run
from mcp.client import streamable_http
from mcp.client.auth import OAuthClientProvider
from mcp.client.session import ClientSession
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

try:
    from mcp.client.auth import AuthorizationCodeResult
except ImportError:  # 1.x
    AuthorizationCodeResult = None


class MemoryStorage:
    """Keeps tokens and client for one run."""

    def __init__(self, client):
        self.tokens = None
        self.client = client

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


@asynccontextmanager
async def open_streams(url, auth):
    if AuthorizationCodeResult is None:
        async with streamable_http.streamablehttp_client(url, auth=auth) as (read, write, _):
            yield read, write
        return
    async with streamable_http.create_mcp_http_client(auth=auth) as client:
        async with streamable_http.streamable_http_client(url, http_client=client) as (read, write, *_):
            yield read, write


@asynccontextmanager
async def connect(url, client_id=None, client_metadata_url=None):
    user = User()

    async def answer():
        code, state, issuer = user.answer()
        if AuthorizationCodeResult is None:
            return code, state
        return AuthorizationCodeResult(code=code, state=state, iss=issuer)

    client = client_id and OAuthClientInformationFull(
        client_id=client_id, redirect_uris=[REDIRECT_URI], token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="Python client",
            redirect_uris=[REDIRECT_URI],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        ),
        storage=MemoryStorage(client),
        redirect_handler=user.open,
        callback_handler=answer,
        client_metadata_url=client_metadata_url,
    )
    async with open_streams(url, auth) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            yield session.call_tool, auth.context


run(connect)
