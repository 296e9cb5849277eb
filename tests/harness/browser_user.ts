import assert from "node:assert/strict";

/** How a user answers the page of a mock identity provider. */
export interface Answer {
  readonly account?: string;
  readonly answer?: "allow" | "deny";
}

/**
 * Does what a user does in a browser, over plain HTTP: opens the page, submits its form, follows redirects with cookies.
 * Answers the callback URL that leads back to the client, without opening it.
 */
export async function logIn(
  authorizationUrl: string | URL,
  { account = "ada", answer = "allow" }: Answer = {},
): Promise<URL> {
  const { origin } = new URL(authorizationUrl);
  const cookies = new Map<string, string>();
  let url = new URL(authorizationUrl);
  let form: URLSearchParams | undefined;
  for (let visited = 0; visited < 10; visited++) {
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join(
          "; ",
        ),
      },
      ...(form && { body: form }),
    });
    const page = await response.text();
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) {
      assert(page.includes("<form"), `no way on at ${url}: ${page}`);
      form = new URLSearchParams({ account, answer });
      continue;
    }
    form = undefined;
    url = new URL(location, url);
    if (url.origin !== origin) return url;
  }
  throw new Error(`Cannot log in: too many pages, the last is ${url}`);
}
