import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";

/** A server that begins the session `name` with each request, and remembers the sessions of requests. */
function server(name: string): RawUpstream & { readonly sessions: string[] } {
  const sessions: string[] = [];
  const created = new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      const [, session] = /^mcp-session-id: (.*)\r$/im.exec(request) ?? [];
      if (session !== undefined) sessions.push(session);
      await connection.send(answer(name, `Mcp-Session-Id: ${name}`));
    }
  });
  return Object.assign(created, { sessions });
}

function fleet(
  servers: readonly RawUpstream[],
  loadBalancing: Readonly<Record<string, unknown>> = {},
) {
  const endpoints = servers.map(({ port }) => ({ host: "127.0.0.1", port }));
  return {
    routes: [{ backends: [{ backend: "fleet" }] }],
    backends: [{
      name: "fleet",
      endpoints,
      loadBalancing: { policy: "RoundRobin", ...loadBalancing },
    }],
  };
}

async function ask(origin: string, session?: string) {
  const response = await fetch(origin, {
    headers: session === undefined ? {} : { "mcp-session-id": session },
  });
  return {
    status: response.status,
    text: await response.text(),
    session: response.headers.get("mcp-session-id") ?? "",
    error: response.headers.get("x-gateway-error"),
  };
}

Deno.test("the server of a session sees its own ID, the client one that leads back to it", async () => {
  await using one = server("one");
  await using two = server("two");
  await using gateway = await startTestGateway(fleet([one, two]));
  const first = await ask(gateway.origin);
  assert.match(first.session, /^(one|two)~gw[0-9a-f]{8}$/);

  for (let i = 0; i < 5; i++) {
    assert.deepEqual(await ask(gateway.origin, first.session), first);
  }

  const own = first.text === "one" ? one : two;
  assert.deepEqual(own.sessions, Array(5).fill(first.text));
});

Deno.test("a session whose endpoint is gone is 404 with a JSON-RPC error", async () => {
  await using one = server("one");
  await using two = server("two");
  await using gateway = await startTestGateway(fleet([one, two]));

  const lost = await ask(gateway.origin, "session~gw00000000");

  assert.deepEqual([lost.status, lost.error], [404, "mcp_session_lost"]);
  assert.equal(JSON.parse(lost.text).error.message, "Session not found");
  assert.deepEqual([one.sessions, two.sessions], [[], []]);
});

Deno.test("a session without the mark of a gateway goes to any endpoint", async () => {
  await using one = server("one");
  await using two = server("two");
  await using gateway = await startTestGateway(fleet([one, two]));

  await ask(gateway.origin, "old");
  await ask(gateway.origin, "old");

  assert.deepEqual([one.sessions, two.sessions], [["old"], ["old"]]);
});

Deno.test("the IDs of shared sessions, and of a backend with one endpoint, stay as they are", async () => {
  await using one = server("one");
  await using two = server("two");
  await using shared = await startTestGateway(
    fleet([one, two], { mcpSessions: "Shared" }),
  );
  await using single = await startTestGateway(fleet([one]));

  const { text, session } = await ask(shared.origin);
  assert.equal(session, text);
  assert.equal((await ask(single.origin)).session, "one");
  assert.equal((await ask(shared.origin, "one~gw00000000")).status, 200);
  assert.deepEqual([...one.sessions, ...two.sessions], ["one"]);
});

Deno.test("ConsistentHash chooses by the value of an expression", async () => {
  await using one = server("one");
  await using two = server("two");
  await using gateway = await startTestGateway(
    fleet([one, two], {
      policy: "ConsistentHash",
      hash: 'request.headers["x-user"] + request.path',
    }),
  );

  const seen = new Set<string>();
  for (let user = 0; user < 20; user++) {
    const texts = new Set<string>();
    for (let i = 0; i < 3; i++) {
      const headers = { "x-user": String(user) };
      const response = await fetch(gateway.origin, { headers });
      texts.add(await response.text());
    }
    assert.equal(texts.size, 1);
    for (const text of texts) seen.add(text);
  }
  assert.equal(seen.size, 2);
});

for (
  const [hash, message] of [
    ["jtw.sub", 'unknown variable "jtw"'],
    ["mcp.tool.name", 'Cannot use "mcp" to choose an endpoint'],
  ]
) {
  Deno.test(`the expression ${hash} is rejected`, async () => {
    await using upstream = server("one");
    await assert.rejects(
      () =>
        startTestGateway(fleet([upstream], { policy: "ConsistentHash", hash })),
      (error: Error) => error.message.includes(message ?? ""),
    );
  });
}
