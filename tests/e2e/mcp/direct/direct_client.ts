import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { type Era, type Form, PREFIX, startServer } from "./direct_server.ts";

/** Opens a client behind a gateway in front of two servers; the first calls have found out all that is to know of them. */
export async function open(era: Era, form: Form) {
  await using opening = new AsyncDisposableStack();
  const { server, url, ...at } = startServer(era, form);
  opening.defer(() => server.shutdown());
  const gateway = opening.use(await startTestGateway(twoServers(url)));
  const client = await connect(gateway.origin, era);
  await client.call("plain");
  const opened = opening.move();
  return {
    ...client,
    ...at,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Returns the configuration of an endpoint with a server twice. */
export function twoServers(url: string) {
  const servers = ["a", "b"].map((name) => ({ name, url }));
  return { routes: [{ name: "tools", backends: [{ mcp: { servers } }] }] };
}

/** Connects a client with a gateway; it calls tools of the server `a`. */
export async function connect(origin: string, era: Era) {
  const send = (
    method: string,
    params: object,
    session?: string,
    signal?: AbortSignal,
    id?: string | number,
  ) => sendTo(`${origin}/mcp`, era, { method, params, session, signal, id });
  const session = era === "modern" ? undefined : await begin(send);
  const respond = (name: string, args: object, signal?: AbortSignal) => {
    const params = { name: `a_${name}`, arguments: args };
    return send("tools/call", params, session, signal);
  };
  return {
    /** Resolves with the head of the response. */
    respond,
    /** Resolves with the text of the response. */
    call: async (name: string, signal?: AbortSignal) =>
      await (await respond(name, {}, signal)).text(),
    list: async (id: string | number) =>
      await (await send("tools/list", {}, session, undefined, id)).text(),
    cancel: async () => {
      const params = { requestId: 7 };
      await (await send("notifications/cancelled", params, session)).text();
    },
  };
}

async function begin(
  send: (method: string, params: object) => Promise<Response>,
): Promise<string> {
  const response = await send("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1.0.0" },
  });
  await response.body?.cancel();
  return response.headers.get("mcp-session-id") ?? "";
}

function sendTo(
  url: string,
  era: Era,
  { method, params, session, signal, id = 7 }: {
    readonly method: string;
    readonly params: object & { readonly name?: string };
    readonly session: string | undefined;
    readonly signal: AbortSignal | undefined;
    readonly id?: string | number | undefined;
  },
): Promise<Response> {
  const own: Record<string, string> = era === "legacy"
    ? (session === undefined ? {} : { "mcp-session-id": session })
    : {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": params.name ?? "",
    };
  const meta = {
    [`${PREFIX}/protocolVersion`]: "2026-07-28",
    [`${PREFIX}/clientCapabilities`]: {},
  };
  return fetch(url, {
    method: "POST",
    ...(signal && { signal }),
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...own,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      ...(!method.startsWith("notifications/") && { id }),
      method,
      params: era === "legacy" ? params : { ...params, _meta: meta },
    }),
  });
}

/** Returns the message of a response, as its text and parsed. */
export function messageOf(text: string) {
  const line = text.split("\n").findLast((each) => each.startsWith("data: "));
  const json = line?.slice(6) ?? text;
  return { json, ...JSON.parse(json) };
}
