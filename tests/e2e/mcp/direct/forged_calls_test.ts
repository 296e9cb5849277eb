/** Calls that rules and server could read in two ways never arrive, and servers cannot answer the calls of others. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { callModern } from "../../../harness/mcp/modern_call.ts";
import { eras, PREFIX } from "./direct_server.ts";

const MANY = 33;

/** Members of `params` for which one reader finds an allowed call, and another one does not. */
const forged = {
  "the name twice": '"name":"a_plain","name":"a_failing","arguments":{}',
  "the name twice, the other way round":
    '"name":"a_failing","name":"a_plain","arguments":{}',
  "the name twice, once escaped":
    '"name":"a_plain","n\\u0061me":"a_failing","arguments":{}',
  "the arguments twice":
    '"name":"a_plain","arguments":{"x":1},"arguments":{"x":2}',
  "an argument twice": '"name":"a_plain","arguments":{"x":2,"x":1}',
  "an argument twice, once escaped":
    '"name":"a_plain","arguments":{"x":2,"\\u0078":1}',
  "a number that is rounded":
    '"name":"a_plain","arguments":{"x":1.00000000000000001}',
  "a name that looks like it": '"name":"a_pl\u0430in","arguments":{}',
  "a name with a character after it": '"name":"a_plain\\u0000","arguments":{}',
  "half a character": '"name":"a_plain\\ud800","arguments":{}',
  "a list as name": '"name":["a_plain"],"arguments":{}',
  "other parameters after them":
    '"name":"a_plain","arguments":{}},"params":{"name":"a_failing","arguments":{}',
  "a second message after them":
    '"name":"a_plain","arguments":{}}}{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a_failing"',
  "another method after them":
    '"name":"a_plain","arguments":{}},"method":"tools/list","params":{',
} satisfies Readonly<Record<string, string>>;

const rules = [
  "!has(mcp.tool) || mcp.tool.name == 'a_plain'",
  "!has(mcp.tool) || !has(mcp.tool.arguments.x) || mcp.tool.arguments.x == 1",
];

for (const era of eras) {
  Deno.test(`a call of a ${era} client that can be read in two ways does not reach the server`, async () => {
    await using server = startAnswering(({ id, method }) => ({
      id,
      result: aboutOf(method) ?? { content: [] },
    }));
    await using gateway = await startGateway(server.url, rules);
    const url = `${gateway.origin}/mcp`;
    const send = await senderOf(url, era);
    const honest = await (await send('"name":"a_plain","arguments":{"x":1}'))
      .text();
    const reached = [];

    for (const [what, params] of Object.entries(forged)) {
      const before = server.calls.length;
      const response = await send(params);
      await response.text();
      if (server.calls.length > before) reached.push(what);
    }

    assert.match(honest, /"content":\[\]/);
    assert.deepEqual(reached, []);
  });
}

Deno.test("a server that answers with the id of another call fails its own call only", async () => {
  const waiting = Promise.withResolvers<number>();
  const forgedOne = Promise.withResolvers<void>();
  await using server = startAnswering(async ({ id, method, params }) => {
    const about = aboutOf(method);
    if (about !== undefined) return { id, result: about };
    const content = [{ type: "text", text: String(params["name"]) }];
    if (params["name"] === "noted") {
      waiting.resolve(id);
      await forgedOne.promise;
      return { id, result: { content } };
    }
    return { id: await waiting.promise, result: { content } };
  });
  await using gateway = await startGateway(server.url);
  const url = `${gateway.origin}/mcp`;

  const victim = callModern(url, "tools/call", { name: "a_noted" });
  await waiting.promise;
  const liar = await callModern(url, "tools/call", { name: "a_plain" });
  forgedOne.resolve();

  assert.equal(liar.result.isError, true);
  assert.equal((await victim).result.content[0].text, "noted");
});

Deno.test("a server cannot ask a client more than 32 questions at once", async () => {
  const question = { method: "roots/list" };
  const inputRequests = Object.fromEntries(
    Array.from({ length: MANY }, (_, index) => [`q${index}`, question]),
  );
  await using server = startAnswering(({ id, method }) => ({
    id,
    result: aboutOf(method) ??
      { resultType: "input_required", inputRequests },
  }));
  await using gateway = await startGateway(server.url);

  const { result } = await callModern(
    `${gateway.origin}/mcp`,
    "tools/call",
    { name: "a_plain", arguments: {} },
    { capabilities: { roots: {} } },
  );

  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /"a" asks for invalid input/);
});

Deno.test("a server of 2025-11-25 cannot ask a client of 2026-07-28 with a result", async () => {
  await using server = startAnswering(({ id, method }) => {
    if (method === "server/discover") {
      return { id, error: { code: -32601, message: "Method not found" } };
    }
    const result = {
      resultType: "input_required",
      inputRequests: { a: { method: "tools/call" } },
      content: [],
    };
    const about = { ...aboutOf(method), protocolVersion: "2025-11-25" };
    return { id, result: method === "tools/call" ? result : about };
  });
  await using gateway = await startGateway(server.url);

  const { result } = await callModern(`${gateway.origin}/mcp`, "tools/call", {
    name: "a_plain",
    arguments: {},
  });

  assert.equal(result.resultType, "complete");
  assert.equal(result.requestState, undefined);
});

interface Message {
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Starts a server of 2026-07-28, and of 2025-11-25. */
function startAnswering(
  answer: (message: Message) => object | Promise<object>,
) {
  const calls: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const text = await request.text();
      const message = text === "" ? {} : JSON.parse(text);
      if (message.id === undefined) return new Response(null, { status: 202 });
      if (message.method === "tools/call") calls.push(text);
      return Response.json({ jsonrpc: "2.0", ...await answer(message) });
    },
  );
  return {
    calls,
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function aboutOf(method: string): object | undefined {
  if (method === "tools/call") return undefined;
  const tools = ["plain", "failing", "noted"].map((name) => ({
    name,
    inputSchema: { type: "object" },
  }));
  const capabilities = { tools: {} };
  return { supportedVersions: ["2026-07-28"], capabilities, tools };
}

/** Starts an endpoint with the server twice, so names have prefixes, and rules. */
function startGateway(url: string, matchExpressions: readonly string[] = []) {
  const servers = ["a", "b"].map((name) => ({ name, url }));
  const policies = matchExpressions.length === 0
    ? {}
    : { authorization: { policy: { matchExpressions } } };
  return startTestGateway({
    routes: [{ policies, backends: [{ mcp: { servers } }] }],
  });
}

/** Returns a function that sends a call with the given members of `params`. */
async function senderOf(url: string, era: (typeof eras)[number]) {
  const post = (headers: Readonly<Record<string, string>>, body: string) =>
    fetch(url, {
      method: "POST",
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...headers,
      },
      body,
    });
  const call = (params: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`;
  if (era === "modern") {
    const meta =
      `"_meta":{"${PREFIX}/protocolVersion":"2026-07-28","${PREFIX}/clientCapabilities":{}}`;
    const headers = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "a_plain",
    };
    return (params: string) => post(headers, call(`${params},${meta}`));
  }
  const response = await post(
    {},
    JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1.0.0" },
      },
    }),
  );
  await response.text();
  const session = response.headers.get("mcp-session-id") ?? "";
  return (params: string) => post({ "mcp-session-id": session }, call(params));
}
