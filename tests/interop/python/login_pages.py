"""Follows login pages over plain HTTP, as a user with a browser does."""
import asyncio
import re
import urllib.error
import urllib.request
from html import unescape
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

REDIRECT_URI = "http://127.0.0.1:41998/callback"


# The fields of our own pages, and of those of Keycloak and Dex.
_ANSWERS = {
    "account": "ada",
    "answer": "allow",
    "username": "ada",
    "login": "ada@example.com",
    "password": "ada",
    "accept": "Yes",
}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


_opener = urllib.request.build_opener(_NoRedirect)


def _fetch(url, form, cookies):
    headers = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    data = form and urlencode(form).encode()
    try:
        return _opener.open(urllib.request.Request(url, data=data, headers=headers))
    except urllib.error.HTTPError as response:
        return response


class User:
    """Says yes to every page and stops where the client waits."""

    def __init__(self, redirect_uri=REDIRECT_URI):
        self.redirect_uri = redirect_uri
        self.callback = None
        self._cookies = {}

    async def open(self, url):
        self.callback = await asyncio.to_thread(self._log_in, url)

    def _log_in(self, url):
        form = None
        for _ in range(20):
            cookies = self._cookies.setdefault(urlsplit(url).netloc, {})
            response = _fetch(url, form, cookies)
            page = response.read().decode()
            for cookie in response.headers.get_all("set-cookie", []):
                name, _, rest = cookie.partition("=")
                cookies[name] = rest.split(";")[0]
            location = response.headers.get("location")
            if location is not None:
                form, url = None, urljoin(url, location)
                if url.startswith(self.redirect_uri):
                    return url
                continue
            if "<form" not in page:
                raise RuntimeError(f"no way on at {url}: {response.status} {page[:300]}")
            hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page)
            form = {**_ANSWERS, **dict(hidden)}
            action = re.search(r'<form[^>]* action="([^"]*)"', page)
            url = urljoin(url, unescape(action.group(1))) if action else url
        raise RuntimeError("too many login pages")

    def answer(self):
        """Code, state and issuer of the callback."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.callback).query).items()}
        if "code" not in query:
            raise RuntimeError(f"login failed: {query}")
        return query["code"], query.get("state"), query.get("iss")
