import assert from "node:assert/strict";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import {
  eventsOf,
  startTracedGateway,
  type TracedGateway,
} from "../../harness/gateway/traced_gateway.ts";

/** An upstream that answers each request with its own path, and a gateway before it. */
async function startBoth(
  route: Readonly<Record<string, unknown>> = {},
): Promise<TracedGateway> {
  const upstream = new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      const path = request.split(" ")[1] ?? "";
      await connection.send(
        `HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`,
      );
    }
  });
  const backends = [{ host: `127.0.0.1:${upstream.port}` }];
  const gateway = await startTracedGateway({
    routes: [{ name: "all", backends, ...route }],
  });
  return {
    ...gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await upstream.stop();
    },
  };
}

/** The paths that the events of a stream speak of, each once. */
function pathsOf(events: readonly TraceEvent[]): readonly string[] {
  const paths = events.flatMap(({ message }) =>
    "requestState" in message ? [message.requestState.request.path] : []
  );
  return [...new Set(paths)];
}

function typesOf(events: readonly TraceEvent[]): readonly string[] {
  return events.map(({ message }) =>
    "stage" in message ? `${message.type}: ${message.stage}` : message.type
  );
}

/** The stream of the admin interface, in lines. */
function linesOf(response: Response): ReadableStreamDefaultReader<string> {
  const text = response.body?.pipeThrough(new TextDecoderStream());
  if (text === undefined) throw new Error("no body");
  return text.getReader();
}

async function readUntil(
  reader: ReadableStreamDefaultReader<string>,
  wanted: string,
): Promise<string> {
  let text = "";
  while (!text.includes(wanted)) {
    const { done, value = "" } = await reader.read();
    if (done) throw new Error(`The stream ended without "${wanted}": ${text}`);
    text += value;
  }
  return text;
}

for (const method of ["GET", "POST"]) {
  Deno.test(`${method} /debug/trace streams the next request, and ends with it`, async () => {
    await using gateway = await startBoth();
    const response = await fetch(`${gateway.admin}/debug/trace`, { method });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const reader = linesOf(response);
    let text = await readUntil(reader, "\n\n");
    assert.equal(text, ": ready\n\n");

    await fetchRaw(`${gateway.origin}/one`);
    await fetchRaw(`${gateway.origin}/two`);
    for (let part = await reader.read(); !part.done;) {
      text += part.value;
      part = await reader.read();
    }

    const frames = text.split("\n\n").filter((frame) => frame !== "");
    const events = frames.filter((frame) => !frame.startsWith(":"))
      .map((frame) => JSON.parse(frame.replace(/^data: /, "")) as TraceEvent);
    assert.deepEqual(pathsOf(events), ["/one"]);
    assert.deepEqual(typesOf(events), [
      "requestStarted",
      "requestSnapshot: initial request",
      "policySelection",
      "requestSnapshot: gateway policies",
      "routeSelection",
      "policySelection",
      "requestSnapshot: route policies",
      "policySelection",
      "requestSnapshot: final request",
      "backendCallStart",
      "backendCallResult",
      "responseSnapshot: raw response",
      "responseSnapshot: backend response ready",
      "responseSnapshot: final response",
      "bodySnapshot: response",
      "requestFinished",
    ]);
    const times = events.map(({ eventEnd }) => eventEnd);
    assert.deepEqual(times, times.toSorted((a, b) => a - b));
    assert.ok(times.every(Number.isInteger));
  });
}

Deno.test("/debug/trace shows what a rule has read of an MCP message and of an LLM request", async () => {
  await using gateway = await startBoth({
    policies: {
      authorization: {
        policy: {
          matchExpressions: [
            "!has(mcp.tool) || mcp.tool.name != 'drop'",
            "!llm.streaming",
          ],
        },
      },
    },
  });
  const watched = eventsOf(await gateway.watch());
  const { status } = await fetchRaw(`${gateway.origin}/mcp`, {
    method: "POST",
    headers: { "mcp-session-id": "s1" },
    body:
      '{"method":"tools/call","params":{"name":"drop","arguments":{"pin":"0000"}}}',
  });
  assert.equal(status, 403);

  const read = (await watched).flatMap(({ message }) => {
    if (message.type !== "cel") return [];
    const { mcp, llm } = message.requestState;
    return [{ mcp, llm }];
  });
  const expected = {
    mcp: {
      sessionId: "s1",
      methodName: "tools/call",
      tool: { name: "drop" },
    },
    llm: { streaming: false },
  };
  assert.deepEqual(read, [expected, expected]);
});

Deno.test("/debug/trace sends a heartbeat every second", async () => {
  await using gateway = await startBoth();
  const response = await fetch(`${gateway.admin}/debug/trace`);
  const reader = linesOf(response);

  await readUntil(reader, ": keepalive\n\n");

  await reader.cancel();
});

Deno.test("/debug/trace rejects other methods, bad filters and bad counts", async () => {
  await using gateway = await startBoth();
  const answer = async (query: string, method = "GET") => {
    const url = `${gateway.admin}/debug/trace${query}`;
    const response = await fetch(url, { method });
    return [response.status, (await response.text()).split("\n")[0]];
  };

  assert.deepEqual(await answer("", "HEAD"), [405, ""]);
  assert.deepEqual(await answer("", "DELETE"), [405, "method not allowed"]);
  assert.deepEqual(await answer("?count=0"), [
    400,
    "invalid count: expected a whole number from 1 to 100000",
  ]);
  assert.deepEqual(await answer("?nonsense=1"), [
    400,
    "Unknown parameter: nonsense",
  ]);
  const [status, message] = await answer(
    `?filter=${encodeURIComponent('requst.path == "/"')}`,
  );
  assert.equal(status, 400);
  assert.match(
    String(message),
    /^invalid filter: unknown variable "requst" at column 1/,
  );
  const [, tooEarly] = await answer(
    `?expression=${encodeURIComponent('jwt.sub == "a"')}`,
  );
  assert.match(String(tooEarly), /"jwt" is not available in a filter/);
});

Deno.test("a filter selects requests as they arrive, by path, header and source", async () => {
  await using gateway = await startBoth();
  const byPath = await gateway.watch({ filter: 'request.path == "/b"' });
  const byHeader = await gateway.watch({
    filter: 'request.headers["x-debug"] == "1"',
  });

  for (const path of ["/a", "/b", "/c"]) {
    await fetchRaw(gateway.origin + path);
  }
  await fetchRaw(`${gateway.origin}/d`, { headers: { "x-debug": "1" } });

  assert.deepEqual(pathsOf(await eventsOf(byPath)), ["/b"]);
  assert.deepEqual(pathsOf(await eventsOf(byHeader)), ["/d"]);
});

Deno.test("gateway and port select requests by listener", async () => {
  await using gateway = await startBoth();
  const other = await gateway.watch({ gateway: "other" });
  const elsewhere = await gateway.watch({ port: gateway.port + 1 });
  const here = await gateway.watch({
    gateway: "default",
    port: gateway.port,
  });

  await fetchRaw(`${gateway.origin}/here`);

  assert.deepEqual(pathsOf(await eventsOf(here)), ["/here"]);
  for (const stream of [other, elsewhere]) stream.stop();
  assert.deepEqual(await eventsOf(other), []);
});

Deno.test("count selects requests one after the other", async () => {
  await using gateway = await startBoth();
  const stream = await gateway.watch({ count: 3 });

  for (const path of ["/1", "/2", "/3", "/4"]) {
    await fetchRaw(gateway.origin + path);
  }

  const events = await eventsOf(stream);
  assert.deepEqual(pathsOf(events), ["/1", "/2", "/3"]);
  assert.equal(
    typesOf(events).filter((type) => type === "requestFinished").length,
    3,
  );
});

Deno.test("requests at the same time never mix: each of 20 watchers sees one of 2000, whole", async () => {
  await using gateway = await startBoth();
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => gateway.watch()),
  );
  const read = streams.map(eventsOf);
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 200 });
  using _client = client;

  let next = 0;
  await Promise.all(Array.from({ length: 200 }, async () => {
    while (next < 2000) {
      const path = `/${next++}`;
      const response = await fetch(gateway.origin + path, { client });
      assert.equal(await response.text(), path);
    }
  }));

  const seen = await Promise.all(read);
  const paths = seen.map(pathsOf);
  assert.ok(paths.every((each) => each.length === 1), String(paths));
  for (const events of seen) {
    assert.equal(typesOf(events)[0], "requestStarted");
    assert.equal(typesOf(events).at(-1), "requestFinished");
    const body = events.find(({ message }) => message.type === "bodySnapshot");
    assert.ok(body?.message.type === "bodySnapshot");
    assert.deepEqual([atob(body.message.body)], pathsOf(events));
  }
});

Deno.test("a slow watcher loses events, gets their number, and does not delay requests", async () => {
  await using gateway = await startBoth();
  const stuck = await gateway.watch({ count: 100 });

  for (let i = 0; i < 100; i++) {
    const { status } = await fetchRaw(`${gateway.origin}/${i}`);
    assert.equal(status, 200);
  }

  const events = await eventsOf(stuck);
  const dropped = events.flatMap(({ message }) =>
    message.type === "eventsDropped" ? [message.count] : []
  );
  const kept = events.length - dropped.length;
  assert.ok(kept >= 512 && kept <= 612, String(kept));
  assert.equal(dropped.reduce((sum, count) => sum + count, 0) + kept, 1600);
  assert.equal(
    typesOf(events).filter((type) => type === "requestFinished").length,
    100,
  );
});

Deno.test("a client that disconnects /debug/trace makes room at once, also in the middle of a request", async () => {
  await using gateway = await startBoth();
  const abort = new AbortController();
  const { signal } = abort;
  const response = await fetch(`${gateway.admin}/debug/trace`, { signal });
  const reader = linesOf(response);
  await readUntil(reader, ": ready");
  const later = await gateway.watch();
  abort.abort();
  await reader.closed.catch(() => {});

  // The next keepalive finds out; until then the stream may still take a request.
  for (let path = 0; path < 2; path++) {
    await fetchRaw(`${gateway.origin}/${path}`);
  }

  assert.equal(pathsOf(await eventsOf(later)).length, 1);
});

Deno.test("more than 100 watchers are rejected", async () => {
  await using gateway = await startBoth();
  for (let i = 0; i < 100; i++) await gateway.watch();

  const response = await fetch(`${gateway.admin}/debug/trace`);

  assert.equal(response.status, 503);
  assert.equal(await response.text(), "too many watchers\n");
});

Deno.test("a stop ends the streams of waiting watchers", async () => {
  const gateway = await startBoth();
  const response = await fetch(`${gateway.admin}/debug/trace`);
  const reader = linesOf(response);
  await readUntil(reader, ": ready");

  await gateway[Symbol.asyncDispose]();

  await reader.closed;
});

Deno.test("a large body is truncated at 64 KiB, and marked so", async () => {
  await using gateway = await startBoth();
  const stream = await gateway.watch();
  const body = "x".repeat(100_000);

  await fetchRaw(`${gateway.origin}/large`, {
    method: "POST",
    headers: { "content-length": String(body.length) },
    body,
  });

  const [request, response] = (await eventsOf(stream)).flatMap(({ message }) =>
    message.type === "bodySnapshot" ? [message] : []
  );
  assert.equal(request?.stage, "final request");
  assert.equal(request?.truncated, true);
  assert.equal(atob(request?.body ?? ""), "x".repeat(64 * 1024));
  assert.equal(response?.truncated, undefined);
});
