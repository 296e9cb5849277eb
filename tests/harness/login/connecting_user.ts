import assert from "node:assert/strict";
import { CookieJar } from "../browser/browser_user.ts";

/** A page that a browser has come to. */
export interface VisitedPage {
  readonly url: URL;
  readonly status: number;
  readonly text: string;
}

/** A user with a browser, who logs in at the gateway under one name and at services under another. */
export class ConnectingUser {
  readonly jar = new CookieJar();
  /** Stops redirects before a URL. */
  stopsAt: (url: URL) => boolean = () => false;
  /** Returns where a URL is reached, as a proxy with TLS would. */
  locate: (url: URL) => URL = (url) => url;

  /** @param gateway Origin of the gateway. @param idp Origin of the identity provider of its users. */
  constructor(
    readonly name: string,
    readonly gateway: string,
    readonly idp: string,
  ) {}

  /** Name of the user at services. */
  get account(): string {
    return `${this.name}-there`;
  }

  /** Opens a page, logs in wherever that is asked for, and agrees to everything, until there is nothing more to agree to. */
  async connect(url: string | URL): Promise<VisitedPage> {
    let page = await this.open(url);
    for (let steps = 0; steps < 8; steps++) {
      if (!page.text.includes('value="allow"')) return page;
      if (page.url.pathname === "/connections") return page;
      page = await this.submit(page, "allow");
    }
    throw new Error(`too many pages, the last is ${page.url}`);
  }

  /** Opens a page of the gateway, and logs in at the gateway if that is asked for. */
  async open(url: string | URL): Promise<VisitedPage> {
    const page = await this.visit(url);
    return page.url.origin === this.idp
      ? await this.submit(page, "allow")
      : page;
  }

  /** Submits the first form of a page; `action` chooses another. */
  async submit(
    { url, text }: VisitedPage,
    answer: string,
    action = "",
  ): Promise<VisitedPage> {
    const form = [
      ...text.matchAll(/<form[^>]*?(?: action="([^"]*)")?>(.*?)<\/form>/gs),
    ]
      .find(([, target = ""]) => target.endsWith(action));
    assert(form, `no form at ${url}: ${text}`);
    const [, target = "", content = ""] = form;
    const fields = [...content.matchAll(
      /<input type="hidden" name="([^"]*)" value="([^"]*)">/g,
    )].map(([, name = "", value = ""]) => [name, value]);
    return await this.visit(
      new URL(target.replaceAll("&#47;", "/").replaceAll("&amp;", "&"), url),
      new URLSearchParams([
        ...fields,
        ["answer", answer],
        ["account", url.origin === this.idp ? this.name : this.account],
      ]),
    );
  }

  /** Opens a page as it is, or posts a form; follows redirects. */
  async visit(
    start: string | URL,
    form?: URLSearchParams,
  ): Promise<VisitedPage> {
    using client = Deno.createHttpClient({ allowHost: true });
    let url = new URL(start);
    let body = form;
    for (let redirects = 0; redirects < 12; redirects++) {
      if (this.stopsAt(url)) return { url, status: 0, text: "" };
      const response = await fetch(this.locate(url), {
        method: body === undefined ? "GET" : "POST",
        redirect: "manual",
        client,
        headers: {
          accept: "text/html",
          host: url.host,
          cookie: this.jar.fieldFor(url),
          connection: "close",
          ...(body && { origin: url.origin }),
        },
        ...(body && { body }),
      });
      const text = await response.text();
      this.jar.store(url, response.headers);
      const location = response.headers.get("location");
      if (location === null) return { url, status: response.status, text };
      url = new URL(location, url);
      body = undefined;
    }
    throw new Error(`too many redirects, the last is ${url}`);
  }
}
