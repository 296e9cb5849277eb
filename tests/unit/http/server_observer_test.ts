import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { connect as connectHttp2 } from "node:http2";
import tls from "node:tls";
import { GatewayError } from "../../../src/base/errors.ts";
import type { Outcome } from "../../../src/http/message.ts";
import type { TlsConfig } from "../../../src/http/server/accept/certificate_table.ts";
import { respondToError } from "../../../src/proxy/request/respond.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { TestServer } from "../../harness/servers/echo_server.ts";
import { RawClient } from "../../harness/clients/raw_client.ts";

const authority = await createAuthority();
const other = await createAuthority("Other CA");
const certificates = [await authority.issueServer(["localhost"])] as const;
const forged = await other.issueClient("mallory");

const rejections = [
  {
    name: "a request without Host",
    request: "GET /a?b=c HTTP/1.1\r\n\r\n",
    code: "bad_request",
    seen: { version: "1.1", method: "GET", authority: "", target: "/a?b=c" },
  },
  {
    name: "a head that is too large",
    request: `GET / HTTP/1.1\r\nHost: a\r\nx: ${"x".repeat(3000)}\r\n\r\n`,
    code: "head_too_large",
    seen: { version: "", method: "", authority: "", target: "" },
  },
  {
    name: "CONNECT",
    request: "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
    code: "method_not_supported",
    seen: {
      version: "1.1",
      method: "CONNECT",
      authority: "a:443",
      target: "a:443",
    },
  },
] as const;
for (const { name, request, code, seen } of rejections) {
  Deno.test(`HttpServer reports a rejected request: ${name}`, async () => {
    await using test = await TestServer.start({
      limits: { maxHeaderBytes: 2048 },
    });
    using client = await RawClient.connect(test.port);

    await client.send(request);
    const answer = await client.receive();

    const [refused] = test.refused;
    assert(refused);
    const { error, status, bytesSent, source, ...rest } = refused;
    assert.equal(error.code, code);
    assert.equal(status, answer?.status);
    assert(bytesSent > 0);
    assert.equal(source.address, "127.0.0.1");
    assert.deepEqual(rest, seen);
    assert.equal(test.refused.length, 1);
  });
}

Deno.test("HttpServer reports a client that uses TLS on a plain port", async () => {
  await using test = await TestServer.start();
  const socket = tls.connect({ port: test.port, host: "127.0.0.1" });

  await once(socket, "error");
  await test.saw("closed: bad_request");

  assert.equal(
    test.refused[0]?.error.message,
    "Cannot read the request: the client uses TLS, but this port is plain HTTP",
  );
  socket.destroy();
});

Deno.test("HttpServer reports a rejected HTTP/2 request", async () => {
  await using test = await TestServer.start();
  const session = connectHttp2(`http://127.0.0.1:${test.port}`);
  const stream = session.request({ ":path": "/a", expect: "wonders" });

  const [headers] = await once(stream, "response");
  stream.resume();
  await once(stream, "close");
  session.close();
  await test.saw("closed: client closed");

  assert.equal(headers[":status"], 417);
  assert.deepEqual(
    test.refused.map(({ error, status, version, method, target }) => ({
      code: error.code,
      status,
      version,
      method,
      target,
    })),
    [{
      code: "expectation_failed",
      status: 417,
      version: "2",
      method: "GET",
      target: "/a",
    }],
  );
});

Deno.test("HttpServer reports connections: opened, closed, rejected", async () => {
  await using test = await TestServer.start({ limits: { maxConnections: 1 } });
  const first = await RawClient.connect(test.port);
  await first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await first.receive();
  using _second = await RawClient.connect(test.port);
  await test.saw("rejected");

  first[Symbol.dispose]();
  await test.saw("closed: client closed");

  assert.deepEqual(test.events, [
    "opened http/1.1",
    "rejected",
    "closed: client closed",
  ]);
});

const handshakes: readonly {
  readonly name: string;
  readonly reason: string;
  readonly config?: Partial<TlsConfig>;
  readonly client: tls.ConnectionOptions;
}[] = [
  {
    name: "without a certificate where one is required",
    reason: "no_client_certificate",
    config: { clientCertificates: { mode: "required", ca: authority.cert } },
    client: {},
  },
  {
    name: "with a forged certificate where one is required",
    reason: "broken_off",
    config: { clientCertificates: { mode: "required", ca: authority.cert } },
    client: forged,
  },
  {
    name: "with a forged certificate where one is optional",
    reason: "bad_client_certificate",
    config: { clientCertificates: { mode: "optional", ca: authority.cert } },
    client: forged,
  },
  {
    name: "with an old version of TLS",
    reason: "incompatible",
    config: { minVersion: "TLSv1.3" },
    client: { maxVersion: "TLSv1.2" },
  },
  {
    name: "that does not trust the certificate",
    reason: "client_alert",
    client: { ca: other.cert },
  },
];
for (const { name, reason, config, client } of handshakes) {
  Deno.test(`HttpServer reports a failed handshake with a client ${name}`, async () => {
    await using test = await TestServer.start({}, { certificates, ...config });
    const socket = tls.connect({
      port: test.port,
      host: "127.0.0.1",
      servername: "localhost",
      ca: authority.cert,
      ...client,
    });
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));

    socket.resume();
    await test.saw(`handshake: ${reason}`);

    socket.destroy();
    await closed;
  });
}

for (
  const { name, text, reason } of [
    {
      name: "plain HTTP",
      text: "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      reason: "not_tls",
    },
    { name: "nothing", text: "", reason: "client_closed" },
  ]
) {
  Deno.test(`HttpServer reports a failed handshake with a client that sends ${name}`, async () => {
    await using test = await TestServer.start({
      limits: { tlsHandshakeTimeoutMs: 50 },
    }, { certificates });
    const socket = net.connect(test.port, "127.0.0.1");
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await once(socket, "connect");

    if (text === "") socket.end();
    else socket.write(text);
    await test.saw(`handshake: ${reason}`);

    socket.destroy();
    await closed;
  });
}

for (const version of ["http/1.1", "h2"] as const) {
  Deno.test(`HttpServer passes the reason of its closing to requests of ${version}`, async () => {
    const reason = new GatewayError("drain_timeout", "gateway", "too late");
    const requested = Promise.withResolvers<void>();
    const outcome = Promise.withResolvers<Outcome>();
    let cancelledWith: unknown;
    await using test = await TestServer.start({
      handler: async ({ cancellation }) => {
        requested.resolve();
        await new Promise<void>((resolve) =>
          cancellation.onCancel((why) => {
            cancelledWith = why;
            resolve();
          })
        );
        const response = respondToError(reason);
        return { response, finished: outcome.resolve };
      },
    });
    const socket = version === "h2"
      ? connectHttp2(`http://127.0.0.1:${test.port}`)
      : net.connect(test.port, "127.0.0.1");
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    if (socket instanceof net.Socket) {
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      socket.resume();
    } else socket.request({ ":path": "/" }).on("error", () => {});
    await requested.promise;
    assert.equal(test.server.activeRequests, 1);

    await test.server.close(reason);

    assert.equal(cancelledWith, reason);
    assert.equal((await outcome.promise).error, reason);
    assert.equal(test.server.activeRequests, 0);
    socket.destroy();
    await closed;
  });
}
