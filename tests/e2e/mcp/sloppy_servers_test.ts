/** Servers that SDKs get along with, although they do not keep to the specification. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";

type Answer = (id: number) => Response;

const result = { content: [{ type: "text", text: "found" }] };

function json(message: object): Response {
  return Response.json({ jsonrpc: "2.0", ...message });
}

function events(...data: readonly string[]): Response {
  return new Response(data.map((each) => `data: ${each}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
}

const answers: Readonly<Record<string, Answer>> = {
  noise: (id) =>
    events("ping", "{}", JSON.stringify({ jsonrpc: "2.0", id, result })),
  batch: (id) => events(JSON.stringify([{ jsonrpc: "2.0", id, result }])),
  broken: () => events("{"),
  nameless: () =>
    json({ id: null, error: { code: -32600, message: "No such page" } }),
};

/** Answers of frameworks to a request that they do not know. */
const unknown: Readonly<Record<string, () => Response>> = {
  "an error": () =>
    json({ id: 0, error: { code: -32601, message: "Method not found" } }),
  "JSON of its own": () => Response.json({ detail: "Unknown method" }),
  "a long page": () => new Response("<p>".repeat(50_000), { status: 404 }),
};

/** Starts an endpoint of a server of 2025-11-25, whose tools answer as above. */
async function start(answerUnknown = unknown["an error"]) {
  await using opening = new AsyncDisposableStack();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const text = await request.text();
      const { id, method, params } = text === "" ? {} : JSON.parse(text);
      if (id === undefined) return new Response(null, { status: 202 });
      if (method === "initialize") {
        const { protocolVersion } = params;
        return json({ id, result: { protocolVersion, capabilities: {} } });
      }
      return answers[params.name]?.(id) ?? answerUnknown?.() ??
        new Response(null, { status: 404 });
    },
  );
  opening.defer(() => server.shutdown());
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  const gateway = opening.use(
    await startTestGateway({
      routes: [{ backends: [{ mcp: { servers: [{ name: "a", url }] } }] }],
    }),
  );
  const opened = opening.move();
  return {
    url: `${gateway.origin}/mcp`,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const expected = {
  noise: /^found$/,
  batch: /^found$/,
  broken: /^MCP server "a" sent a response that is not JSON-RPC$/,
  nameless: /No such page$/,
};

for (const [name, text] of Object.entries(expected)) {
  Deno.test(`the answer "${name}" of a server reaches clients of both eras`, async () => {
    await using gateway = await start();

    for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
      assert.match(await call(gateway.url, name, mode), text);
    }
  });
}

for (const [name, answer] of Object.entries(unknown)) {
  Deno.test(`a server that answers an unknown method with ${name} is one of 2025-11-25`, async () => {
    await using gateway = await start(answer);

    assert.equal(await call(gateway.url, "noise", "legacy"), "found");
  });
}

/** Servers that cannot be used, and what the log says beside the reason that clients get. */
const unusable = [
  {
    does: "redirects",
    answer: () =>
      new Response(null, {
        status: 307,
        headers: { location: "/mcp/?key=s3cret" },
      }),
    reason: "redirects requests, which the gateway does not follow",
    cause: /: status 307 to \W*\/mcp\/\W*$/,
  },
  {
    does: "rejects initialize",
    answer: () =>
      Response.json({
        jsonrpc: "2.0",
        id: 0,
        error: { code: -32000, message: "Needs a tenant" },
      }, { status: 400 }),
    reason: "rejects initialize",
    cause: /: Needs a tenant"\n$/,
  },
];

for (const { does, answer, reason, cause } of unusable) {
  Deno.test(`a server that ${does} is listed as such, and the log says why`, async () => {
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      answer,
    );
    const url = `http://127.0.0.1:${server.addr.port}/mcp`;
    await using gateway = await startTestGateway({
      routes: [{ backends: [{ mcp: { servers: [{ name: "a", url }] } }] }],
    });

    const { result } = await callModern(`${gateway.origin}/mcp`, "tools/list");

    assert.deepEqual(result._meta["gateway/unavailableServers"], [
      { name: "a", reason },
    ]);
    const lines = gateway.log.filter((line) => line.includes(reason));
    assert.match(lines[0] ?? "", cause);
  });
}

Deno.test("a server with long instructions leaves room for those of others", async () => {
  const serve = (instructions: string) =>
    Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () =>
        json({
          id: 0,
          result: {
            supportedVersions: ["2026-07-28"],
            capabilities: {},
            instructions,
          },
        }),
    );
  await using long = serve("x".repeat(100_000));
  await using short = serve("Ask Ada first.");
  const servers = [long, short].map(({ addr: { port } }, index) => ({
    name: `s${index}`,
    url: `http://127.0.0.1:${port}/mcp`,
  }));
  await using gateway = await startTestGateway({
    routes: [{ backends: [{ mcp: { servers } }] }],
  });

  const { result } = await callModern(
    `${gateway.origin}/mcp`,
    "server/discover",
  );

  assert.match(result.instructions, /^# s0\n\nx+\n\n# s1\n\nAsk Ada first\.$/);
  assert.ok(result.instructions.length <= 32 * 1024);
});

async function call(
  url: string,
  name: string,
  mode: "legacy" | { readonly pin: string },
): Promise<string> {
  const client = new Client({ name: "test", version: "1.0.0" }, {
    versionNegotiation: { mode },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const answer = await client.callTool({ name, arguments: {} }).then(
    ({ content: [block] }) => block?.type === "text" ? block.text : "",
    (error: Error) => error.message,
  );
  await client.close();
  return answer;
}
