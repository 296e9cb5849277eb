import { fetchRaw, type RawResponse } from "../clients/fetch_raw.ts";
import type { TestGateway } from "./gateway.ts";
import { answer, RawUpstream } from "../clients/raw_upstream.ts";

/** Part of a configuration. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns a route with a `global` block and an upstream that returns 200. */
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

/** Returns a descriptor with a budget per hour for each `x-user`. */
export function byUser(limit: Fields): Fields {
  const entries = [{ key: "user", value: "request.headers['x-user']" }];
  return { unit: "Hours", entries, ...limit };
}

/** Starts an upstream that returns 200 for every request. */
export function upstreamThatSaysOk(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("ok"));
    }
  });
}

/** Sends a request as a user. */
export function send(
  { origin }: { readonly origin: string },
  user = "anna",
): Promise<RawResponse> {
  return fetchRaw(origin, { headers: { "x-user": user } });
}

/** Sends a request as a user; repeats it while the store times out, as on a busy machine. */
export async function sendUntilDecided(
  gateway: { readonly origin: string },
  user?: string,
): Promise<RawResponse> {
  for (;;) {
    const response = await send(gateway, user);
    if (response.status !== 503) return response;
  }
}

/** Requests a completion that uses nine tokens. */
export async function chat({ origin }: TestGateway): Promise<Response> {
  // A separate connection, closed after the response: a stopping gateway waits for others, which never ends with a fake clock.
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

/** Returns the body of a response. */
export function textOf({ bytes }: RawResponse): string {
  return new TextDecoder().decode(bytes);
}

/** Returns `budgets` of `/config_dump`. */
export async function budgetsOf(
  { gateway }: Pick<TestGateway, "gateway">,
): Promise<readonly Fields[]> {
  const { budgets } = await gateway.dataPlane.call("describe");
  return budgets as readonly Fields[];
}
