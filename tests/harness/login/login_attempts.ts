import assert from "node:assert/strict";
import { CookieJar, logIn } from "../browser/browser_user.ts";
import type { ProxiedGateway } from "../gateway/proxied_gateway.ts";

/** The gateway, and those who take part. */
export interface Story extends ProxiedGateway {
  /** ID of the client of the victim, who has logged in with it before. */
  readonly client: string;
  /** Browser of the victim. */
  readonly browser: CookieJar;
  /** ID of a client that the attacker registered. */
  readonly evilClient: string;
}

/** The response to an attempt. */
export interface Outcome {
  readonly status: number;
  /** `Location`; empty without one. */
  readonly location: string;
  readonly text: string;
}

/** Visits a URL as a browser does, without following redirects. */
export async function visit(
  url: string,
  jar = new CookieJar(),
): Promise<Outcome> {
  const response = await fetch(url, {
    redirect: "manual",
    headers: { cookie: jar.fieldFor(new URL(url)) },
  });
  jar.store(new URL(url), response.headers);
  return {
    status: response.status,
    location: response.headers.get("location") ?? "",
    text: await response.text(),
  };
}

/** Returns the outcome of a call of an OAuth endpoint. */
export function outcomeOf(
  { status, body }: { readonly status: number; readonly body: unknown },
): Outcome {
  return { status, location: "", text: JSON.stringify(body) };
}

/** Logs the victim in and returns the code that the client receives. */
export function codeOf(
  { code, client, browser }: Pick<Story, "code" | "client" | "browser">,
): Promise<string> {
  return code(client, {}, browser);
}

/** Opens the consent page in a new browser. */
export async function openConsent({ authorizeUrl, client }: Story) {
  const jar = new CookieJar();
  const { text } = await visit(authorizeUrl(client), jar);
  const [, login = ""] = /name="login" value="([^"]*)"/.exec(text) ?? [];
  assert.notEqual(login, "");
  return { login, jar };
}

/** Agrees on the consent page. */
export async function answerConsent(
  { base }: Story,
  login: string,
  headers: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const response = await fetch(`${base}/consent`, {
    method: "POST",
    redirect: "manual",
    headers,
    body: new URLSearchParams({ login, answer: "allow" }),
  });
  return {
    status: response.status,
    location: response.headers.get("location") ?? "",
    text: await response.text(),
  };
}

/** Starts a login of a client with consent, and returns its state at the provider. */
export async function startLogin(
  { authorizeUrl, client, browser }: Story,
): Promise<string> {
  const { location } = await visit(authorizeUrl(client), browser);
  return new URL(location).searchParams.get("state") ?? "";
}

/** Returns the browser of an attacker who has consented to the client. */
export async function consented({ code, client }: Story): Promise<CookieJar> {
  const jar = new CookieJar();
  await code(client, { account: "eve" }, jar);
  return jar;
}

/** Logs the victim in at the provider, and returns the URL of the callback without visiting it. */
export async function callbackOf(
  { authorizeUrl, base, client, browser }: Story,
): Promise<string> {
  const { location } = await visit(authorizeUrl(client), browser);
  const provider = new URL(location);
  provider.searchParams.set("redirect_uri", `${base}/callback`);
  return (await logIn(provider, {}, browser)).href;
}
