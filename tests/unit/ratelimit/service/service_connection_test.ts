import assert from "node:assert/strict";
import { tokensUsed } from "../../../harness/login/tokens_used.ts";
import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createAuthority } from "../../../harness/login/certificates.ts";
import { freePort } from "../../../harness/process/free_port.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";
import { startRateLimitService } from "../../../harness/servers/rate_limit_service.ts";
import { createTestLimiter, useOf } from "../service_limiters.ts";

const uses = [useOf("requests")];

/** A service that admits everything and closes its connections on demand. */
class DrainingService implements AsyncDisposable {
  answered = 0;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #upstream: NodeUpstream;

  private constructor(server: Http2Server) {
    // A gRPC message: its prefix, and `overall_code` 1.
    const ok = new Uint8Array([0, 0, 0, 0, 2, 8, 1]);
    server.on("session", (session) => this.#sessions.add(session));
    server.on("stream", (stream: ServerHttp2Stream) => {
      this.answered++;
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on(
        "wantTrailers",
        () => stream.sendTrailers({ "grpc-status": "0" }),
      );
      stream.end(ok);
    });
    this.#upstream = new NodeUpstream(server);
  }

  static async start(): Promise<DrainingService> {
    const server = createServer();
    const service = new DrainingService(server);
    await new Promise<void>((resolve) =>
      server.listen(0, "127.0.0.1", resolve)
    );
    return service;
  }

  get port(): number {
    return this.#upstream.port;
  }

  /** Sends GOAWAY on all connections. */
  drain(): void {
    for (const session of this.#sessions) session.close();
    this.#sessions.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#upstream[Symbol.asyncDispose]();
  }
}

Deno.test("ServiceLimiter fails after 100 ms when the service is slow, and reuses the connection", async () => {
  const slow = Promise.withResolvers<void>();
  await using service = await startRateLimitService({
    async reply({ domain }) {
      if (service.received.length === 1) await slow.promise;
      return { overall_code: "OK", raw_body: Buffer.from(domain) };
    },
  });
  await using test = createTestLimiter(service.port);

  const asked = test.limiter.admit(uses);
  await service.waitFor(1);
  test.clock.advance(99);
  assert.equal(test.clock.pending, 1);
  test.clock.advance(1);
  const late = await asked;
  const next = await test.limiter.admit(uses);
  slow.resolve();

  assert(late.verdict === "failed" && late.error instanceof Error);
  assert.match(String(late.error.cause), /no response within 100 ms/);
  assert.equal(next.verdict, "admitted");
});

Deno.test("ServiceLimiter connects to a service that started after it", async () => {
  const port = freePort();
  await using test = createTestLimiter(port);
  const before = await test.limiter.admit(uses);
  const state = test.limiter.describe().connection;

  await using _service = await startRateLimitService({ port });
  test.clock.advance(1000);
  const after = await test.limiter.admit(uses);

  assert.equal(before.verdict, "failed");
  assert.equal(state, "failing");
  assert.equal(after.verdict, "admitted");
});

Deno.test("ServiceLimiter reconnects every second at least, however long a service is down", async () => {
  const port = freePort();
  await using test = createTestLimiter(port);
  for (let i = 0; i < 20; i++) {
    await test.limiter.admit(uses);
    test.clock.advance(1000);
  }

  await using _service = await startRateLimitService({ port });

  assert.equal((await test.limiter.admit(uses)).verdict, "admitted");
});

Deno.test("ServiceLimiter survives a restart of the service", async () => {
  await using first = await startRateLimitService();
  await using test = createTestLimiter(first.port);
  await test.limiter.admit(uses);

  first.stop();
  while ((await test.limiter.admit(uses)).verdict !== "failed");
  await using second = await startRateLimitService({ port: first.port });
  test.clock.advance(1000);
  const after = await test.limiter.admit(uses);

  assert.equal(after.verdict, "admitted");
  assert.equal(second.received.length, 1);
});

Deno.test("ServiceLimiter loses no request when the service closes a connection gracefully", async () => {
  await using service = await DrainingService.start();
  await using test = createTestLimiter(service.port);
  const { limiter } = test;

  const verdicts = [(await limiter.admit(uses)).verdict];
  for (let round = 0; round < 10; round++) {
    service.drain();
    // Sent before the limiter receives GOAWAY.
    verdicts.push((await limiter.admit(uses)).verdict);
    service.drain();
    while (limiter.describe().connection === "ready") {
      await new Promise((resolve) => setImmediate(resolve));
    }
    verdicts.push((await limiter.admit(uses)).verdict);
  }

  assert.deepEqual(new Set(verdicts), new Set(["admitted"]));
  assert.equal(service.answered, verdicts.length);
});

Deno.test("ServiceLimiter delivers a report that was created while the service was down", async () => {
  const port = freePort();
  await using test = createTestLimiter(port);
  test.limiter.debit([useOf("tokens")], tokensUsed(77));
  await test.limiter.admit(uses);
  assert.equal(test.limiter.describe().pendingReports, 1);

  await using service = await startRateLimitService({ port });
  while (service.received.length === 0) {
    test.clock.advance(1000);
    await test.limiter.admit(uses);
  }
  while (test.limiter.describe().pendingReports > 0) {
    await test.limiter.admit(uses);
  }

  assert.equal(test.limiter.describe().reportedTokens, 77);
  assert.equal(
    service.received.filter(({ hits_addend }) => hits_addend === 77).length,
    1,
  );
});

Deno.test("ServiceLimiter replaces a connection without responses", async () => {
  let isSilent = false;
  await using service = await startRateLimitService({
    reply: () =>
      isSilent ? new Promise(() => {}) : Promise.resolve({
        overall_code: "OK",
      }),
  });
  await using test = createTestLimiter(service.port);
  await test.limiter.admit(uses);
  isSilent = true;
  for (let i = 0; i < 25; i++) {
    const asked = test.limiter.admit(uses);
    await service.waitFor(service.received.length + 1);
    test.clock.advance(100);
    await asked;
    if (test.limiter.describe().connection === "failing") break;
  }
  const state = test.limiter.describe().connection;

  isSilent = false;
  const after = await test.limiter.admit(uses);

  assert.equal(state, "failing");
  assert.equal(after.verdict, "admitted");
});

Deno.test("ServiceLimiter closes a connection on which the server sends nothing", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using test = createTestLimiter(listener.addr.port);

  const asked = test.limiter.admit(uses);
  using accepted = await listener.accept();
  test.clock.advance(100);
  const decision = await asked;
  test.clock.advance(1000);
  await untilEnd(accepted);

  assert.equal(decision.verdict, "failed");
  assert.equal(test.limiter.describe().connection, "failing");
});

for (
  const { name, bytes } of [
    { name: "HTTP/1.1", bytes: "HTTP/1.1 400 Bad Request\r\n\r\n" },
    { name: "random bytes", bytes: "\x7f\x00\xff\x13".repeat(5000) },
    { name: "nothing and a close", bytes: "" },
  ]
) {
  Deno.test(`ServiceLimiter fails when the port responds with ${name}`, async () => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    await using test = createTestLimiter(listener.addr.port);

    const asked = test.limiter.admit(uses);
    {
      using accepted = await listener.accept();
      await accepted.write(new TextEncoder().encode(bytes));
      if (bytes !== "") await untilEnd(accepted);
    }
    const decision = await asked;

    assert.equal(decision.verdict, "failed");
    assert.equal(test.limiter.describe().connection, "failing");
  });
}

async function untilEnd(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(1024);
  try {
    while (await connection.read(buffer) !== null);
  } catch (error) {
    assert(error instanceof Deno.errors.ConnectionReset);
  }
}

Deno.test("ServiceLimiter makes 500 concurrent calls over one connection", async () => {
  await using service = await startRateLimitService();
  await using test = createTestLimiter(service.port);

  const decisions = await Promise.all(
    Array.from({ length: 500 }, () => test.limiter.admit(uses)),
  );

  assert(decisions.every(({ verdict }) => verdict === "admitted"));
  assert.equal(service.received.length, 500);
});

Deno.test("ServiceLimiter fails once it is closed, also for earlier requests", async () => {
  await using service = await startRateLimitService({
    reply: () => new Promise(() => {}),
  });
  await using test = createTestLimiter(service.port);
  const asked = test.limiter.admit(uses);
  await service.waitFor(1);

  await test.limiter.close();

  assert.equal((await asked).verdict, "failed");
  assert.equal((await test.limiter.admit(uses)).verdict, "failed");
  assert.equal(test.clock.pending, 0);
});

Deno.test("ServiceLimiter connects before the first request", async () => {
  await using service = await startRateLimitService();
  await using test = createTestLimiter(service.port);

  await test.limiter.open();

  assert.equal(test.limiter.describe().connection, "ready");
});

for (
  const { name, hostname, subjectAltNames, isTrusted, verdict } of [
    {
      name: "verified by its hostname",
      hostname: "rls.example",
      subjectAltNames: [],
      isTrusted: true,
      verdict: "admitted",
    },
    {
      name: "verified by another name",
      hostname: "other.example",
      subjectAltNames: ["no.example", "rls.example"],
      isTrusted: true,
      verdict: "admitted",
    },
    {
      name: "of another name",
      hostname: "other.example",
      subjectAltNames: [],
      isTrusted: true,
      verdict: "failed",
    },
    {
      name: "of an unknown authority",
      hostname: "rls.example",
      subjectAltNames: [],
      isTrusted: false,
      verdict: "failed",
    },
  ]
) {
  Deno.test(`ServiceLimiter ${verdict} over TLS with a service ${name}`, async () => {
    const authority = await createAuthority();
    const trusted = isTrusted ? authority : await createAuthority();
    await using service = await startRateLimitService({
      tls: await authority.issueServer(["rls.example"]),
    });
    await using test = createTestLimiter(service.port, {
      hostname,
      subjectAltNames,
      caCertificates: [trusted.cert],
    });

    const decision = await test.limiter.admit(uses);

    assert.equal(decision.verdict, verdict);
    assert.equal(service.received.length, verdict === "admitted" ? 1 : 0);
  });
}
