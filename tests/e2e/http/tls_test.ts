import assert from "node:assert/strict";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { buffer } from "node:stream/consumers";
import { createAuthority } from "../../harness/login/certificates.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { NodeUpstream } from "../../harness/servers/node_upstreams.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { namesShown, TlsClient } from "../../harness/clients/tls_client.ts";

const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

/** A listener that terminates TLS for `localhost`. */
function https(tls: Readonly<Record<string, unknown>> = {}) {
  return { protocol: "HTTPS", tls: { ...own, ...tls } };
}

function routeTo({ port }: { readonly port: number }) {
  return { routes: [{ backends: [{ host: `127.0.0.1:${port}` }] }] };
}

/** An upstream that answers each request with the request itself. */
function echoUpstream(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) await connection.send(answer(await connection.request()));
  });
}

Deno.test("gateway shows each listener's certificate, and routes by Host", async () => {
  const hosts = ["a.example", "*.w.example"];
  const certificates = await Promise.all(
    hosts.map((host) => authority.issueServer([host])),
  );
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway({
    routes: [{
      hostnames: ["a.example"],
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  }, {
    address: undefined,
    protocol: "HTTPS",
    listeners: [
      ...hosts.map((hostname, index) => ({
        hostname,
        address: "127.0.0.1",
        tls: certificates[index],
      })),
      { address: "127.0.0.1", tls: own },
    ],
  });
  const { port } = gateway;

  assert.equal(await namesShown(port, "a.example"), "DNS:a.example");
  assert.equal(await namesShown(port, "x.w.example"), "DNS:*.w.example");
  assert.equal(await namesShown(port, "y.x.w.example"), "DNS:*.w.example");
  // The listener for every name answers those that nobody else is for, and those that name nobody.
  assert.match(await namesShown(port, "b.example"), /DNS:localhost/);
  assert.match(await namesShown(port, ""), /DNS:localhost/);

  using client = new TlsClient(port, { ca: authority.cert });
  assert.match(
    await client.get("/", "a.example"),
    /^200 GET \/ [^]*x-forwarded-proto: https/i,
  );
  assert.equal(await client.get("/", "localhost"), "404 route not found");
});

Deno.test("gateway chooses among several certificates of one listener by the names in them", async () => {
  const other = await authority.issueServer(["b.example"]);
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(routeTo(upstream), {
    protocol: "HTTPS",
    tls: { certificates: [own, other] },
  });

  assert.equal(await namesShown(gateway.port, "b.example"), "DNS:b.example");
  assert.match(await namesShown(gateway.port, "localhost"), /DNS:localhost/);
  assert.match(await namesShown(gateway.port, "c.example"), /DNS:localhost/);
});

Deno.test("gateway returns 421 on a connection that was opened for another listener's name", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(routeTo(upstream), {
    address: undefined,
    protocol: "HTTPS",
    listeners: ["a.example", "*.w.example"].map((hostname) => ({
      hostname,
      address: "127.0.0.1",
      tls: own,
    })),
  });
  using client = new TlsClient(gateway.port, { rejectUnauthorized: false });
  const get = async (servername: string, host: string) =>
    (await client.get("/", servername, host)).slice(0, 3);

  assert.equal(await get("a.example", "x.w.example"), "421");
  assert.equal(await get("x.w.example", "y.w.example"), "200");
  assert.equal(await get("", "a.example"), "200");
  assert.match(gateway.accessLog[0] ?? "", / reason=misdirected_request /);
});

const alice = await authority.issueClient("alice");
const mallory = await (await createAuthority("Other CA")).issueClient(
  "mallory",
);

for (
  const { mode, name, pair, served } of [
    { mode: "Require", name: "a good one", pair: alice, served: true },
    { mode: "Require", name: "a forged one", pair: mallory, served: false },
    { mode: "Require", name: "none", pair: {}, served: false },
    { mode: "Request", name: "a good one", pair: alice, served: true },
    { mode: "Request", name: "a forged one", pair: mallory, served: false },
    { mode: "Request", name: "none", pair: {}, served: true },
  ]
) {
  Deno.test(`gateway that has to ${mode} client certificates ${served ? "serves" : "rejects"} a client with ${name}`, async () => {
    await using upstream = echoUpstream();
    await using gateway = await startTestGateway(
      routeTo(upstream),
      https({ clientCa: authority.cert, clientCertificate: mode }),
    );
    using client = new TlsClient(gateway.port, { ca: authority.cert, ...pair });

    if (served) assert.match(await client.get(), /^200 /);
    else await assert.rejects(client.get());
    assert.equal(upstream.accepted, served ? 1 : 0);
  });
}

Deno.test("gateway rejects versions of TLS below the minimum", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(
    routeTo(upstream),
    https({ minVersion: "TLSv1.3" }),
  );
  using old = new TlsClient(gateway.port, {
    ca: authority.cert,
    maxVersion: "TLSv1.2",
  });
  using modern = new TlsClient(gateway.port, { ca: authority.cert });

  await assert.rejects(old.get());
  assert.match(await modern.get(), /^200 /);
});

Deno.test("gateway carries a gRPC-like call over HTTP/2 from end to end, trailers included", async () => {
  await using upstream = await NodeUpstream.http2((stream, headers) => {
    stream.respond({
      ":status": 200,
      "content-type": "application/grpc",
      "x-path": headers[":path"],
      "x-te": headers.te,
    }, { waitForTrailers: true });
    stream.on("wantTrailers", () =>
      stream.sendTrailers({
        "grpc-status": "0",
        "grpc-message": "fine",
      }));
    stream.pipe(stream);
  });
  await using gateway = await startTestGateway({
    backends: [{
      name: "grpc",
      static: { host: "127.0.0.1", port: upstream.port },
      protocol: "HTTP2",
    }],
    routes: [{ backends: [{ backend: "grpc" }] }],
  }, https());
  const session = connect(`https://localhost:${gateway.port}`, {
    ca: authority.cert,
    host: "127.0.0.1",
  });
  const stream = session.request({
    ":method": "POST",
    ":path": "/pkg.Service/Call",
    "content-type": "application/grpc",
    te: "trailers",
  });
  const head = Promise.withResolvers<IncomingHttpHeaders>();
  const trailers = Promise.withResolvers<IncomingHttpHeaders>();
  stream.on("response", head.resolve);
  stream.on("trailers", trailers.resolve);
  stream.write(new Uint8Array([0, 0, 0, 0, 2, 7, 8]));
  stream.end(new Uint8Array(100_000));

  const body = await buffer(stream);

  assert.equal(session.alpnProtocol, "h2");
  const { ":status": status, "x-path": path, "x-te": te } = await head.promise;
  assert.deepEqual([status, path, te], [200, "/pkg.Service/Call", "trailers"]);
  assert.equal(body.length, 100_007);
  assert.deepEqual([...body.subarray(0, 7)], [0, 0, 0, 0, 2, 7, 8]);
  const { "grpc-status": code, "grpc-message": message } = await trailers
    .promise;
  assert.deepEqual([code, message], ["0", "fine"]);
  await new Promise<void>((resolve) => session.close(resolve));
});

for (const http2 of [false, true]) {
  const version = http2 ? "HTTP/2" : "HTTP/1.1";
  Deno.test(`gateway relays events over TLS and ${version} one by one`, async () => {
    const next = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using upstream = new RawUpstream(async (connection) => {
      await connection.request();
      await connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
        "data: 0\n\n",
      );
      for (const [index, asked] of next.entries()) {
        await asked.promise;
        await connection.send(`data: ${index + 1}\n\n`);
      }
    });
    await using gateway = await startTestGateway(routeTo(upstream), https());
    using client = Deno.createHttpClient({
      caCerts: [authority.cert],
      http1: !http2,
      http2,
    });

    const response = await fetch(`https://127.0.0.1:${gateway.port}/`, {
      client,
    });
    const events: string[] = [];
    for await (const chunk of response.body ?? []) {
      events.push(new TextDecoder().decode(chunk));
      next[events.length - 1]?.resolve();
    }

    assert.deepEqual(events, ["data: 0\n\n", "data: 1\n\n", "data: 2\n\n"]);
  });
}

Deno.test("gateway passes WebSocket messages both ways over TLS on both sides", async () => {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, ...own },
    (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => socket.send(data);
      return response;
    },
  );
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        host: `127.0.0.1:${server.addr.port}`,
        tls: {
          hostname: "localhost",
          caCertificateRefs: [{ inline: authority.cert }],
        },
      }],
    }],
  }, https());
  using client = Deno.createHttpClient({ caCerts: [authority.cert] });
  const socket = new WebSocket(`wss://127.0.0.1:${gateway.port}/`, { client });
  socket.binaryType = "arraybuffer";
  const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
  const replies: unknown[] = [];
  const large = new Uint8Array(300_000).map((_, index) => index % 251);
  await new Promise((resolve) => socket.onopen = resolve);

  socket.send("hello");
  socket.send(large);
  await new Promise<void>((resolve) => {
    socket.onmessage = ({ data }) => {
      replies.push(data instanceof ArrayBuffer ? new Uint8Array(data) : data);
      if (replies.length === 2) resolve();
    };
  });
  socket.close(4000, "enough");
  const { code } = await closed;

  assert.equal(replies[0], "hello");
  assert.deepEqual(replies[1], large);
  assert.equal(code, 4000);
});
