import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { startReloadableGateway } from "../../../harness/gateway/reloadable_gateway.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";

const rules = ["!has(mcp.tool) || mcp.tool.name.startsWith('a')"];

function routes(upstream: RawUpstream, matchExpressions = rules) {
  return {
    routes: [{
      policies: { authorization: { policy: { matchExpressions } } },
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  };
}

const request = {
  method: "POST",
  headers: {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "accept-encoding": "gzip, br",
  },
  body: '{"jsonrpc":"2.0","id":"q","method":"tools/list"}',
} as const;

function tool(name: string, padding = 0): string {
  return `{"name":"${name}","description":"${"d".repeat(padding)}"}`;
}

function result(...tools: readonly string[]): string {
  return `{"jsonrpc":"2.0","id":"q","result":{"tools":[${tools}]}}`;
}

const json = "Content-Type: application/json\r\n";
const events = "Content-Type: text/event-stream\r\nConnection: close\r\n";

function respond(headers: string, body: string | Uint8Array): RawUpstream {
  return new RawUpstream(async (connection) => {
    await connection.request();
    const length = typeof body === "string" ? body.length : body.byteLength;
    await connection.send(
      `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${length}\r\n\r\n`,
      body,
    );
  });
}

for (
  const [what, headers, body, status] of [
    ["8 MiB of tools", json, result(...Array(8).fill(tool("a", 1 << 20))), 502],
    [
      "a list that is compressed all the same",
      `${json}Content-Encoding: gzip\r\n`,
      gzipSync(result(tool("b"))),
      502,
    ],
    ["a list without a content type", "", result(tool("b"), tool("a")), 200],
    ["a list as text", "Content-Type: text/plain\r\n", result(tool("b")), 200],
    ["a list in two forms", json, result('{"name":"a","name":"b"}'), 502],
  ] as const
) {
  Deno.test(`a client that gets ${what} sees no tool that it may not call`, async () => {
    await using upstream = respond(headers, body);
    await using gateway = await startTestGateway(routes(upstream));

    const response = await fetch(gateway.origin, request);
    const text = await response.text();

    assert.equal(response.status, status);
    assert.doesNotMatch(text, /"name":"b"/);
    if (status === 200) {
      assert.deepEqual(
        JSON.parse(text).result.tools.length,
        body.includes('"a"') ? 1 : 0,
      );
      return;
    }
    assert.equal(response.headers.get("x-gateway-error"), "list_unreadable");
    const [line = ""] = gateway.accessLog;
    assert.match(line, /reason=list_unreadable error="Cannot filter the list/);
  });
}

Deno.test("a list in a stream that arrives byte by byte is filtered, and events before it arrive at once", async () => {
  const seen = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(`HTTP/1.1 200 OK\r\n${events}\r\ndata: 1\n\n`);
    await seen.promise;
    await connection.send(...`data: ${result(tool("b"), tool("a"))}\n\n`);
  });
  await using gateway = await startTestGateway(routes(upstream));

  const response = await fetch(gateway.origin, request);
  const stream = response.body?.pipeThrough(new TextDecoderStream());
  let text = "";
  for await (const chunk of stream ?? []) {
    text += chunk;
    if (text === "data: 1\n\n") seen.resolve();
  }

  assert.equal(text, `data: 1\n\ndata: ${result(tool("a"))}\n\n`);
  assert.match(response.headers.get("cache-control") ?? "", /private/);
});

Deno.test("an endless event does not fill the memory: the client gets an error for its request", async () => {
  const ended = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(`HTTP/1.1 200 OK\r\n${events}\r\ndata: `);
    try {
      for (;;) await connection.send("x".repeat(64 * 1024));
    } catch {
      ended.resolve();
    }
  });
  await using gateway = await startTestGateway(routes(upstream));

  const response = await fetch(gateway.origin, request);
  const text = await response.text();

  assert.match(
    text,
    /^event: message\ndata: \{"jsonrpc":"2.0","id":"q","error"/,
  );
  await ended.promise;
  assert.ok(
    gateway.log.some((line) => line.includes("an event is longer than")),
  );
});

Deno.test("a client that leaves a stream ends it at the upstream", async () => {
  const left = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(`HTTP/1.1 200 OK\r\n${events}\r\ndata: 1\n\n`);
    await connection.closedByPeer();
    left.resolve();
  });
  await using gateway = await startTestGateway(routes(upstream));
  const response = await fetch(gateway.origin, {
    headers: { accept: "text/event-stream" },
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();

  await left.promise;
});

Deno.test("a reload with other rules changes lists from the next request on", async () => {
  const opened = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection, index) => {
    await connection.request();
    await connection.send(`HTTP/1.1 200 OK\r\n${events}\r\n: hi\n\n`);
    if (index === 0) await opened.promise;
    await connection.send(`data: ${result(tool("b"), tool("a"))}\n\n`);
  });
  await using gateway = await startReloadableGateway([routes(upstream)]);
  const first = await fetch(gateway.origin, request);
  const changed = ["!has(mcp.tool) || mcp.tool.name.startsWith('b')"];
  assert.equal(await gateway.reload([routes(upstream, changed)]), true);
  opened.resolve();

  const second = await fetch(gateway.origin, request);

  assert.equal(await first.text(), `: hi\n\ndata: ${result(tool("a"))}\n\n`);
  assert.equal(await second.text(), `: hi\n\ndata: ${result(tool("b"))}\n\n`);
});

Deno.test("a stateless list (2026-07-28) is filtered, and clients do not share it", async () => {
  let received = "";
  await using upstream = new RawUpstream(async (connection) => {
    received = await connection.request();
    await connection.send(answer(
      `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[${
        tool("b")
      },${
        tool("a")
      }],"ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}`,
      "Content-Type: application/json",
      "Cache-Control: public, max-age=60",
    ));
  });
  await using gateway = await startTestGateway(routes(upstream));
  const response = await fetch(gateway.origin, {
    ...request,
    headers: {
      ...request.headers,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/list",
    },
    body:
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
  });

  assert.equal(
    await response.text(),
    `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[${
      tool("a")
    }],"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}`,
  );
  assert.equal(response.headers.get("cache-control"), "private, max-age=60");
  assert.match(received, /accept-encoding: identity\r\n/i);
});

Deno.test("a list that does not fit into the memory for bodies is 503", async () => {
  await using upstream = respond(json, result(tool("a", 900 << 10)));
  await using gateway = await startTestGateway({
    config: { limits: { maxBodyMemoryBytes: 1 << 20 } },
    ...routes(upstream),
  });

  const response = await fetch(gateway.origin, request);
  await response.body?.cancel();

  assert.equal(response.status, 503);
  assert.equal(response.headers.get("x-gateway-error"), "body_memory_full");
});
