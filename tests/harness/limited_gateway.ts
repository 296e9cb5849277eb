import { fetchRaw, type RawResponse } from "./fetch_raw.ts";
import type { TestGateway } from "./gateway.ts";
import { answer, RawUpstream } from "./raw_upstream.ts";

/** A part of a configuration. */
export type Fields = Readonly<Record<string, unknown>>;

/** A route with a `global` block and an upstream that says OK. */
export function limitedRoute(
  upstream: { readonly port: number },
  global: Fields,
) {
  return {
    name: "api",
    policies: { rateLimit: { global } },
    backends: [{ host: `127.0.0.1:${upstream.port}` }],
  };
}

/** A descriptor with a budget for each `x-user`, per hour. */
export function byUser(limit: Fields): Fields {
  const entries = [{ key: "user", value: "request.headers['x-user']" }];
  return { unit: "Hours", entries, ...limit };
}

/** Answers every request with 200. */
export function upstreamThatSaysOk(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("ok"));
    }
  });
}

/** Sends a request of a user. */
export function send(
  { origin }: { readonly origin: string },
  user = "anna",
): Promise<RawResponse> {
  return fetchRaw(origin, { headers: { "x-user": user } });
}

/** The same; again as long as the store does not answer in time, as it may be on a busy machine. */
export async function sendUntilDecided(
  gateway: { readonly origin: string },
  user?: string,
): Promise<RawResponse> {
  for (;;) {
    const response = await send(gateway, user);
    if (response.status !== 503) return response;
  }
}

/** Asks an LLM for an answer that uses nine tokens. */
export async function chat({ origin }: TestGateway): Promise<Response> {
  // Of its own, and gone with the answer: a gateway that stops gives the others time, which a clock that stands still has not.
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(`${origin}/v1/chat/completions`, {
    client,
    method: "POST",
    headers: { "content-type": "application/json", "x-user": "anna" },
    body: JSON.stringify({
      model: "any",
      messages: [{ role: "user", content: "Hello there" }],
    }),
  });
  await response.text();
  return response;
}

/** The body of an answer. */
export function textOf({ bytes }: RawResponse): string {
  return new TextDecoder().decode(bytes);
}

/** `budgets` of `/config_dump`. */
export async function budgetsOf(
  { gateway }: Pick<TestGateway, "gateway">,
): Promise<readonly Fields[]> {
  const { budgets } = await gateway.dataPlane.describe();
  return budgets as readonly Fields[];
}
