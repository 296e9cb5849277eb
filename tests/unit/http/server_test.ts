import assert from "node:assert/strict";
import { textBody } from "../../../src/http/body.ts";
import { HeaderList } from "../../../src/http/header_list.ts";
import type { ResponseMessage } from "../../../src/http/message.ts";
import { answering, TestServer } from "../../harness/servers/echo_server.ts";
import { RawClient } from "../../harness/clients/raw_client.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

Deno.test("HttpServer on localhost listens on both families and one port", async () => {
  await using test = new TestServer();
  await test.server.start({ hostname: "localhost", port: 0 });

  const [first, second] = test.server.addresses;

  assert.equal(first?.hostname, "127.0.0.1");
  if (second === undefined) return; // A machine without IPv6.
  assert.deepEqual(second, { hostname: "::1", port: first?.port });
});

Deno.test("HttpServer without a hostname listens on all addresses and reports IPv4 peers", async () => {
  const peers: string[] = [];
  await using test = new TestServer({
    handler: (request) => {
      peers.push(request.source.address);
      return { response: response("ok"), finished: () => {} };
    },
  });
  await test.server.start({ port: 0 });
  using client = await RawClient.connect(test.port);

  await client.send(GET);
  await client.receive();

  assert.deepEqual(peers, ["127.0.0.1"]);
});

Deno.test("HttpServer reports a port in use", async () => {
  await using first = await TestServer.start();
  await using second = new TestServer();

  await assert.rejects(
    second.server.start({ hostname: "127.0.0.1", port: first.port }),
    Deno.errors.AddrInUse,
  );
});

Deno.test("HttpServer rejects connections over the limit", async () => {
  await using test = await TestServer.start({ limits: { maxConnections: 1 } });
  using first = await RawClient.connect(test.port);
  await first.send(GET);
  assert.equal((await first.receive())?.status, 200);

  using second = await RawClient.connect(test.port);
  const answer = await second.receive().catch(() => undefined);

  assert.equal(answer, undefined);
  assert.deepEqual(test.server.connections, {
    accepted: 2,
    refused: 1,
    active: 1,
  });
});

Deno.test("HttpServer rejects more connections of one address than its share", async () => {
  await using test = await TestServer.start({
    limits: { maxConnections: 4 },
  });
  using first = await RawClient.connect(test.port);
  using second = await RawClient.connect(test.port);
  for (const client of [first, second]) {
    await client.send(GET);
    assert.equal((await client.receive())?.status, 200);
  }
  using third = await RawClient.connect(test.port);

  assert.equal(await third.receive().catch(() => undefined), undefined);
  assert.equal(test.server.connections.refused, 1);

  test.server.configure({ maxConnections: 4, maxConnectionsPerAddress: 3 });
  using fourth = await RawClient.connect(test.port);
  await fourth.send(GET);
  assert.equal((await fourth.receive())?.status, 200);
});

Deno.test("HttpServer drains: finishes requests in progress and closes the rest", async () => {
  const reply = Promise.withResolvers<ResponseMessage>();
  const seen = Promise.withResolvers<void>();
  await using test = await TestServer.start({
    handler: async (request) => {
      if (request.target === "/") {
        return { response: response("idle"), finished: () => {} };
      }
      seen.resolve();
      return { response: await reply.promise, finished: () => {} };
    },
  });
  const { port } = test;
  using idle = await RawClient.connect(port);
  using busy = await RawClient.connect(port);
  await idle.send(GET);
  await idle.receive();
  await busy.send(GET.replace("/", "/slow"));
  await seen.promise;

  const drained = test.server.drain();
  assert.equal(await idle.receive(), undefined);
  reply.resolve(response("done"));
  const answer = await busy.receive();
  await busy.transport.closeWrite();
  await drained;

  assert.equal(answer?.body, "done");
  assert.equal(answer?.headers.get("connection"), "close");
  await assert.rejects(RawClient.connect(port));
  assert.equal(test.server.connections.active, 0);
});

Deno.test("HttpServer closes connections with requests in progress", async () => {
  const seen = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<unknown>();
  await using test = await TestServer.start({
    handler: (request) => {
      seen.resolve();
      return new Promise((resolve) =>
        request.cancellation.onCancel((reason) => {
          cancelled.resolve(reason);
          resolve({ response: response("late"), finished: () => {} });
        })
      );
    },
  });
  using client = await RawClient.connect(test.port);
  await client.send(GET);
  await seen.promise;

  await test.server.close();

  assert.match(String(await cancelled.promise), /connection lost/);
});

Deno.test("HttpServer does not retain closed connections", async () => {
  const { handler, outcomes } = answering("ok");
  await using test = await TestServer.start({ handler });

  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 100 }, async (_, i) => {
      using client = await RawClient.connect(test.port);
      if (i % 4 === 0) return;
      await client.send(i % 4 === 1 ? "GET / HT" : GET);
      if (i % 4 === 2) await client.receive();
    }));
  }
  await test.server.drain();

  assert.equal(test.server.connections.accepted, 2000);
  assert.equal(test.server.connections.active, 0);
  assert.ok(outcomes.length >= 500);
});

function response(text: string): ResponseMessage {
  return { status: 200, headers: new HeaderList(), body: textBody(text) };
}
