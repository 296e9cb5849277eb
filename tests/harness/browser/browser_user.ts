import assert from "node:assert/strict";

/** The user's input on the pages of a login. */
export interface Answer {
  readonly account?: string;
  readonly answer?: "allow" | "deny";
}

/** The cookies of a browser by origin, shared by the logins of one user. */
export class CookieJar {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Returns the `Cookie` field for a URL. */
  fieldFor({ origin }: URL): string {
    return [...this.#cookies.get(origin) ?? []]
      .map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** Applies the `Set-Cookie` fields of a response. */
  store({ origin }: URL, headers: Headers): void {
    const cookies = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, cookies);
    for (const cookie of headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (/;\s*max-age=0\b/i.test(cookie)) cookies.delete(name);
      else cookies.set(name, value);
    }
  }
}

/**
 * Acts as a user in a browser over plain HTTP: opens the page, submits its forms, follows redirects with cookies.
 * Calls `beforeVisit` before each request. Returns the callback URL that leads back to the client, without opening it.
 */
export async function logIn(
  authorizationUrl: string | URL,
  { account = "ada", answer = "allow" }: Answer = {},
  jar = new CookieJar(),
  beforeVisit: (url: URL) => Promise<void> = () => Promise.resolve(),
): Promise<URL> {
  let url = new URL(authorizationUrl);
  const redirectUri = url.searchParams.get("redirect_uri") ?? "";
  let form: URLSearchParams | undefined;
  for (let visited = 0; visited < 20; visited++) {
    await beforeVisit(url);
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: { cookie: jar.fieldFor(url), connection: "close" },
      ...(form && { body: form }),
    });
    const page = await response.text();
    jar.store(url, response.headers);
    const location = response.headers.get("location");
    if (location === null) {
      assert(page.includes("<form"), `no way on at ${url}: ${page}`);
      // The fields of our own pages, and of those of Keycloak and Dex.
      form = new URLSearchParams({
        account,
        answer,
        username: account,
        login: `${account}@example.com`,
        password: account,
        accept: "Yes",
        ...hiddenFields(page),
      });
      url = new URL(actionOf(page) ?? url, url);
      continue;
    }
    form = undefined;
    url = new URL(location, url);
    if (isBelow(url, redirectUri)) return url;
  }
  throw new Error(`Cannot log in: too many pages, the last is ${url}`);
}

function isBelow(url: URL, redirectUri: string): boolean {
  const target = URL.parse(redirectUri);
  return target !== null && url.protocol === target.protocol &&
    url.host === target.host && url.pathname === target.pathname;
}

function hiddenFields(page: string): Record<string, string> {
  return Object.fromEntries(
    [...page.matchAll(
      /<input type="hidden" name="([^"]*)" value="([^"]*)">/g,
    )].map(([, name = "", value = ""]) => [name, value]),
  );
}

function actionOf(page: string): string | undefined {
  return /<form[^>]* action="([^"]*)"/.exec(page)?.[1]
    ?.replaceAll("&amp;", "&");
}
