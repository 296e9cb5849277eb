/** Clients and servers of both eras of MCP behind one endpoint, in all four pairs. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { askUser } from "../../../cli/dev/mcp/input.ts";
import { objectSchema, type Offer, text } from "../../../cli/dev/mcp/offer.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";
import { startReloadableGateway } from "../../harness/gateway/reloadable_gateway.ts";
import { startOneEra } from "../../harness/mcp/one_era.ts";

const eras = ["legacy", "modern"] as const;
type Era = (typeof eras)[number];

/** A gateway in front of one server of an era, which offers the demonstration, or the given tools. */
async function open(era: Era, offer?: Offer) {
  await using opening = new AsyncDisposableStack();
  const server = startMcpServer({ ...(offer && { offer }) });
  opening.defer(() => server.close());
  const filtered = opening.use(startOneEra(`${server.origin}/mcp`, era));
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        backends: [{
          mcp: { servers: [{ name: "demo", url: filtered.url }] },
        }],
      }],
    }),
  );
  const opened = opening.move();
  return {
    url: `${gateway.origin}/mcp`,
    server: filtered,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function connect(url: string, era: Era): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" }, {
    capabilities: { elicitation: {}, sampling: {} },
    versionNegotiation: {
      mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" },
    },
  });
  client.setRequestHandler("elicitation/create", () => ({
    action: "accept" as const,
    content: { answer: "forty-two" },
  }));
  client.setRequestHandler("sampling/createMessage", () => ({
    model: "test",
    role: "assistant" as const,
    content: { type: "text" as const, text: "from the model" },
  }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

for (const client of eras) {
  for (const server of eras) {
    Deno.test(`client of the ${client} era is asked by a server of the ${server} era`, async () => {
      await using gateway = await open(server);
      const mcp = await connect(gateway.url, client);

      const asked = await mcp.callTool({
        name: "ask_user",
        arguments: { question: "What?" },
      });
      const sampled = await mcp.callTool({
        name: "ask_model",
        arguments: { prompt: "Think" },
      });
      await mcp.close();

      assert.deepEqual(asked.content, [text('accept: {"answer":"forty-two"}')]);
      assert.deepEqual(sampled.content, [text("from the model")]);
    });

    Deno.test(`client of the ${client} era sees the progress of a server of the ${server} era`, async () => {
      await using gateway = await open(server);
      const mcp = await connect(gateway.url, client);
      const seen: number[] = [];

      const counted = await mcp.callTool(
        { name: "count", arguments: { to: 3 } },
        { onprogress: ({ progress }) => seen.push(progress) },
      );
      await mcp.close();

      assert.deepEqual(counted.content, [text("Counted to 3")]);
      assert.deepEqual(seen, [1, 2, 3]);
    });
  }
}

for (const client of eras) {
  for (const server of eras) {
    Deno.test(`client of the ${client} era goes on when a server of the ${server} era becomes one of the other`, async () => {
      await using gateway = await open(server);
      const mcp = await connect(gateway.url, client);
      const count = () =>
        mcp.callTool({ name: "count", arguments: { to: 1 } }).then(
          ({ content }) => content,
          (error: Error) => error.message,
        );
      const counted = [text("Counted to 1")];
      assert.deepEqual(await count(), counted);

      gateway.server.era = server === "legacy" ? "modern" : "legacy";
      assert.notDeepEqual(await count(), counted);
      const startedAt = performance.now();
      let isBack = false;
      while (!isBack && performance.now() - startedAt < 5000) {
        isBack = isDeepStrictEqual(await count(), counted);
      }
      await mcp.close();

      assert.ok(isBack);
    });
  }
}

const nothing: Omit<Offer, "tools"> = {
  prompts: {},
  resources: [],
  resourceTemplates: [],
  readResource: () => undefined,
  completeArgument: () => [],
};

/** Offers a tool that asks the user, and counts its calls. */
function slowTool() {
  const started = Promise.withResolvers<void>();
  const state = { calls: 0, answers: 0, started: started.promise };
  const offer: Offer = {
    tools: {
      approve: {
        description: "Does something after the user has agreed",
        inputSchema: objectSchema({ what: { type: "string" } }),
        call(input, caller) {
          state.calls++;
          if (caller.response("ok") === undefined) {
            return {
              requests: {
                ok: askUser(`Really ${input["what"]}?`, {
                  type: "object",
                  properties: { ok: { type: "boolean" } },
                }),
              },
            };
          }
          state.answers++;
          return [text(`did ${input["what"]}`)];
        },
      },
    },
    ...nothing,
  };
  return { offer, state };
}

const elicitation = { capabilities: { elicitation: {} } };
const accepted = { action: "accept", content: { ok: true } };

for (const era of eras) {
  Deno.test(`input for a server of the ${era} era is bound to the request and counts once`, async () => {
    const { offer, state } = slowTool();
    await using gateway = await open(era, offer);
    const call = (params: object) =>
      callModern(
        gateway.url,
        "tools/call",
        { name: "approve", ...params },
        elicitation,
      );
    const wanted = { arguments: { what: "A" } };

    const { result: { resultType, inputRequests, requestState } } = await call(
      wanted,
    );
    const [key = ""] = Object.keys(inputRequests);
    const inputResponses = { [key]: accepted };
    const other = { arguments: { what: "B" }, inputResponses, requestState };
    const forged = {
      ...wanted,
      inputResponses,
      requestState: `${requestState}x`,
    };
    assert.equal(resultType, "input_required");
    if (requestState !== undefined) {
      assert.equal((await call(other)).error.code, -32602);
      assert.equal((await call(forged)).error.code, -32602);
    }
    assert.equal(state.answers, 0);

    const done = await call({
      ...wanted,
      inputResponses,
      ...(requestState && { requestState }),
    });
    assert.deepEqual(done.result.content, [text("did A")]);
    assert.equal(state.answers, 1);
    if (era === "legacy") {
      const again = await call({ ...wanted, inputResponses, requestState });
      assert.match(again.error.message, /call is lost/);
      assert.equal(state.answers, 1);
    }
  });
}

Deno.test("session goes on after a restart of the gateway, at the same session of the server", async () => {
  const server = startMcpServer();
  await using old = startOneEra(`${server.origin}/mcp`, "legacy");
  const configuration = {
    config: { sessionSecret: "0123456789abcdef0123456789abcdef" },
    routes: [{
      backends: [{ mcp: { servers: [{ name: "demo", url: old.url }] } }],
    }],
  };
  const first = await startTestGateway(configuration);
  const { id } = await initialize(`${first.origin}/mcp`);
  await first[Symbol.asyncDispose]();
  await using second = await startTestGateway(configuration);

  const listed = await post(`${second.origin}/mcp`, "tools/list", {}, id);
  const forged = await post(`${second.origin}/mcp`, "ping", {}, `${id}x`);
  await fetch(`${second.origin}/mcp`, {
    method: "DELETE",
    headers: { "mcp-session-id": id },
  }).then((response) => response.body?.cancel());
  const ended = await post(`${second.origin}/mcp`, "ping", {}, id);
  await server.close();

  assert.match(listed.text, /"ask_user"/);
  assert.equal(forged.status, 404);
  assert.equal(ended.status, 404);
});

async function initialize(url: string) {
  const { id } = await post(url, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1.0.0" },
  });
  return { id: id ?? "" };
}

async function post(
  url: string,
  method: string,
  params: object,
  session?: string,
) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...(session && { "mcp-session-id": session }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return {
    status: response.status,
    id: response.headers.get("mcp-session-id"),
    text: await response.text(),
  };
}

for (const era of eras) {
  Deno.test(`client of the legacy era hears of a resource of a server of the ${era} era`, async () => {
    await using gateway = await open(era);
    const mcp = await connect(gateway.url, "legacy");
    const updated = Promise.withResolvers<string>();
    mcp.setNotificationHandler(
      "notifications/resources/updated",
      ({ params }) => updated.resolve(params.uri),
    );

    await mcp.subscribeResource({ uri: "playground://guide" });
    const touch = {
      name: "touch_resource",
      arguments: { uri: "playground://guide" },
    };
    // The stream from the server opens after the answer to the subscription.
    let uri: string | undefined;
    while (uri === undefined) {
      await mcp.callTool(touch);
      uri = await Promise.race([updated.promise, Promise.resolve(undefined)]);
    }
    await mcp.close();

    assert.equal(uri, "playground://guide");
  });
}

/** A tool that waits until its test lets it go, and sees that its client has gone. */
function waitingTool() {
  const started = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const tools: Offer["tools"] = {
    wait: {
      description: "Waits",
      inputSchema: objectSchema(),
      async call() {
        started.resolve();
        await released.promise;
        return [text("released")];
      },
    },
  };
  return { offer: { ...nothing, tools }, started, released };
}

Deno.test("calls under way finish when a reload adds a server, and the session goes on", async () => {
  const { offer, started, released } = waitingTool();
  const server = startMcpServer({ offer });
  await using old = startOneEra(`${server.origin}/mcp`, "legacy");
  const configuration = (names: readonly string[]) => ({
    routes: [{
      backends: [{
        mcp: {
          prefix: "Always",
          servers: names.map((name) => ({ name, url: old.url })),
        },
      }],
    }],
  });
  await using gateway = await startReloadableGateway([configuration(["one"])]);
  const mcp = await connect(`${gateway.origin}/mcp`, "legacy");

  const call = mcp.callTool({ name: "one_wait" });
  await started.promise;
  await gateway.reload([configuration(["one", "two"])]);
  const { tools } = await mcp.listTools();
  released.resolve();
  const { content } = await call;
  await mcp.close();
  await server.close();

  assert.deepEqual(tools.map(({ name }) => name), ["one_wait", "two_wait"]);
  assert.deepEqual(content, [text("released")]);
});

for (const client of eras) {
  for (const era of eras) {
    Deno.test(`client of the ${client} era cancels a call at a server of the ${era} era`, async () => {
      const { offer, started, released } = waitingTool();
      const cancelled = Promise.withResolvers<void>();
      const server = startMcpServer({ offer });
      await using watched = watchCancellation(server.origin, cancelled.resolve);
      await using filtered = startOneEra(watched.url, era);
      await using gateway = await startTestGateway({
        routes: [{
          backends: [{ mcp: { servers: [{ name: "a", url: filtered.url }] } }],
        }],
      });
      const mcp = await connect(`${gateway.origin}/mcp`, client);
      const controller = new AbortController();

      const call = mcp.callTool({ name: "wait" }, {
        signal: controller.signal,
      });
      await started.promise;
      controller.abort();
      await assert.rejects(() => call);
      await cancelled.promise;
      released.resolve();

      await mcp.close();
      await server.close();
    });
  }
}

/** Forwards requests to a server; reports that a call was cancelled, as either era does. */
function watchCancellation(origin: string, onCancel: () => void) {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const body = request.body === null ? undefined : await request.text();
      if (body?.includes('"notifications/cancelled"')) onCancel();
      if (body?.includes('"tools/call"')) {
        request.signal.addEventListener("abort", onCancel);
      }
      const headers = new Headers(request.headers);
      headers.delete("host");
      return await fetch(`${origin}/mcp`, {
        method: request.method,
        headers,
        ...(body !== undefined && { body }),
        signal: request.signal,
      }).catch(() => new Response("the client has gone", { status: 499 }));
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
