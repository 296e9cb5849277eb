/** Calls of tools pass as bytes where nothing in them has to change, and are handled as any other message where something has. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

const eras = ["legacy", "modern"] as const;
type Era = (typeof eras)[number];
const PREFIX = "io.modelcontextprotocol";
/** Valid JSON that `JSON.stringify` would write otherwise. */
const spelled = '[ {"type": "text","text":"\\u0061 1.0"} ]';

/** Results by the name of the tool: JSON, or the whole response. */
const results: Readonly<Record<string, string>> = {
  plain: `{"content":${spelled}}`,
  failing: `{"content":${spelled},"isError":true}`,
  meta: `{"content":${spelled},"_meta":{"${PREFIX}/x":1,"own":2}}`,
  link:
    '{"content":[{"type":"resource_link","name":"a","uri":"file:///a"},{"type":"text","text":"a"}]}',
  escaped: '{"content":[{"type":"resource\\u005flink","uri":"file:///a"}]}',
  twice: '{"content":[{"type":"text","text":"a"}],"content":[]}',
  long: `{"content":${spelled},"structuredContent":{"a":"${
    "b".repeat(2000)
  }"}}`,
  broken: '{"content":[{"type":"text","text":tru}]}',
};

/** A server of an era that answers as `results` say, in a form. */
function startServer(era: Era, form: "json" | "sse") {
  const bodies: string[] = [];
  const hanging = Promise.withResolvers<unknown>();
  const ended = Promise.withResolvers<unknown>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const text = await request.text();
      const { id, method, params } = JSON.parse(text);
      if (method === "notifications/cancelled") ended.resolve(params.requestId);
      if (id === undefined) return new Response(null, { status: 202 });
      if (params.name === "hanging") {
        request.signal.addEventListener("abort", () => ended.resolve(id));
        hanging.resolve(id);
        await ended.promise;
      }
      if (method === "server/discover" && era === "legacy") {
        const error = { code: -32601, message: "Method not found" };
        const body = { jsonrpc: "2.0", id, error };
        return Response.json(body, { status: 404 });
      }
      if (method === "tools/call") bodies.push(text);
      const result = method === "tools/call"
        ? results[params.name] ?? "{}"
        : JSON.stringify(aboutOf(era));
      const complete = era === "modern"
        ? result.replace("{", '{"resultType":"complete",')
        : result;
      const message = `{"jsonrpc":"2.0","id":${id},"result":${complete}}`;
      const session = { "mcp-session-id": "one" };
      return form === "json" || method !== "tools/call"
        ? new Response(message, {
          headers: { ...session, "content-type": "application/json" },
        })
        : new Response(`event: message\r\ndata: ${message}\r\n\r\n`, {
          headers: { ...session, "content-type": "text/event-stream" },
        });
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  const hung = { began: hanging.promise, ended: ended.promise };
  return { server, bodies, hung, url };
}

function aboutOf(era: Era) {
  const tools = Object.keys(results).map((name) => ({
    name,
    inputSchema: { type: "object" },
  }));
  const about = { capabilities: { tools: {} }, ttlMs: 60_000, tools };
  return era === "modern"
    ? { ...about, cacheScope: "public", supportedVersions: ["2026-07-28"] }
    : {
      ...about,
      protocolVersion: "2025-11-25",
      serverInfo: { name: "test", version: "1.0.0" },
    };
}

/** A client behind a gateway in front of two servers; the first calls have found out all that is to know of them. */
async function open(era: Era, form: "json" | "sse") {
  await using opening = new AsyncDisposableStack();
  const { server, bodies, hung, url } = startServer(era, form);
  opening.defer(() => server.shutdown());
  const servers = ["a", "b"].map((name) => ({ name, url }));
  const gateway = opening.use(
    await startTestGateway({ routes: [{ backends: [{ mcp: { servers } }] }] }),
  );
  const send = (
    method: string,
    params: object,
    session?: string,
    signal?: AbortSignal,
  ) =>
    sendTo(`${gateway.origin}/mcp`, era, { method, params, session, signal });
  const session = era === "modern" ? undefined : await begin(send);
  const call = async (name: string, signal?: AbortSignal) => {
    const params = { name: `a_${name}`, arguments: {} };
    const response = await send("tools/call", params, session, signal);
    return await response.text();
  };
  const cancel = async () => {
    const params = { requestId: 7 };
    await (await send("notifications/cancelled", params, session)).text();
  };
  await call("plain");
  const opened = opening.move();
  return {
    call,
    cancel,
    bodies,
    hung,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
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
  { method, params, session, signal }: {
    readonly method: string;
    readonly params: object & { readonly name?: string };
    readonly session: string | undefined;
    readonly signal: AbortSignal | undefined;
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
      ...(!method.startsWith("notifications/") && { id: 7 }),
      method,
      params: era === "legacy" ? params : { ...params, _meta: meta },
    }),
  });
}

/** Returns the message of a response, as its text and parsed. */
function messageOf(text: string) {
  const line = text.split("\n").findLast((each) => each.startsWith("data: "));
  const json = line?.slice(6) ?? text;
  return { json, ...JSON.parse(json) };
}

for (const era of eras) {
  for (const form of ["json", "sse"] as const) {
    Deno.test(`${era} calls of a ${form} server pass as the bytes that they are`, async () => {
      await using client = await open(era, form);

      const text = await client.call("plain");

      const { json, id } = messageOf(text);
      assert.equal(id, 7);
      assert.ok(json.includes(`"content":${spelled}`), json);
      const sent = JSON.parse(client.bodies.at(-1) ?? "");
      assert.equal(sent.params.name, "plain");
    });

    Deno.test(`a long answer of a ${form} server is a stream that ${era} clients can resume, if they can`, async () => {
      await using client = await open(era, form);

      const text = await client.call("long");

      const { result } = messageOf(text);
      assert.equal(result.structuredContent.a.length, 2000);
      const isStream = /^id: 1-0\nretry: \d+\ndata: \n\nid: 1-1\nevent: /
        .test(text);
      assert.equal(isStream, era === "legacy", text.slice(0, 100));
    });

    Deno.test(`${era} calls of a ${form} server change what clients must not see as it is`, async () => {
      await using client = await open(era, form);

      const meta = messageOf(await client.call("meta"));
      const link = messageOf(await client.call("link"));
      const escaped = messageOf(await client.call("escaped"));

      const info = era === "modern" ? [`${PREFIX}/serverInfo`] : [];
      assert.deepEqual(Object.keys(meta.result._meta), ["own", ...info]);
      assert.equal(meta.result._meta.own, 2);
      assert.ok(meta.json.includes(spelled), meta.json);
      assert.equal(link.result.content[0].uri, "a+file:///a");
      assert.equal(escaped.result.content[0].uri, "a+file:///a");
    });

    Deno.test(`${era} calls of a ${form} server do not pass on what is invalid`, async () => {
      await using client = await open(era, form);

      const twice = messageOf(await client.call("twice"));
      const broken = messageOf(await client.call("broken"));
      const failing = messageOf(await client.call("failing"));

      assert.deepEqual(twice.result.content, []);
      assert.equal(broken.result.isError, true);
      assert.match(broken.result.content[0].text, /MCP server "a" sent/);
      assert.equal(failing.result.isError, true);
      assert.ok(failing.json.includes(spelled), failing.json);
    });
  }
}

Deno.test("a modern client that leaves ends its call at the server", async () => {
  await using client = await open("modern", "json");
  const leaving = new AbortController();
  const call = client.call("hanging", leaving.signal);
  const id = await client.hung.began;

  leaving.abort();

  await assert.rejects(call);
  assert.equal(await client.hung.ended, id);
});

Deno.test("a legacy client that cancels ends its call at the server", async () => {
  await using client = await open("legacy", "json");
  const call = client.call("hanging");
  const id = await client.hung.began;

  await client.cancel();

  assert.equal(await client.hung.ended, id);
  assert.doesNotMatch(await call, /result/);
});
