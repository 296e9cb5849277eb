import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  connectRaw,
  exchangeRaw,
  statusOf,
} from "../../harness/clients/raw_exchange.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

function routeTo(upstream: RawUpstream) {
  return {
    routes: [{
      name: "all",
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  };
}

/** An upstream that answers each request with the request itself. */
function echoUpstream(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) await connection.send(answer(await connection.request()));
  });
}

Deno.test("gateway forwards method, path, query, Host and body unchanged", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(routeTo(upstream));

  const response = await exchangeRaw(
    gateway.port,
    "POST /a%20b/c?d=%2F&e HTTP/1.1\r\nHost: example.com:81\r\n" +
      "X-Mixed-Case: 1\r\nContent-Length: 5\r\n\r\nhello",
  );

  assert.equal(statusOf(response), 200);
  assert.match(response, /\r\n\r\nPOST \/a%20b\/c\?d=%2F&e HTTP\/1\.1\r\n/);
  assert.match(response, /\r\nHost: example\.com:81\r\n/i);
  assert.match(response, /\r\nX-Mixed-Case: 1\r\n/);
  assert(response.endsWith("\r\n\r\nhello"));
});

Deno.test("gateway adds forwarding headers for the upstream and Via for both sides", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(routeTo(upstream));

  const response = await exchangeRaw(
    gateway.port,
    "GET / HTTP/1.1\r\nHost: example.com\r\nX-Forwarded-For: 6.6.6.6\r\n" +
      "X-Request-Id: abc-1\r\n\r\n",
  );
  const [head = "", forwarded = ""] = response.split("\r\n\r\n");

  assert.match(forwarded, /\r\nx-forwarded-for: 127\.0\.0\.1\r\n/i);
  assert.match(forwarded, /\r\nx-forwarded-proto: http\r\n/i);
  assert.match(forwarded, /\r\nx-forwarded-host: example\.com\r\n/i);
  assert.match(forwarded, /\r\nvia: 1\.1 gateway(?:\r\n|$)/i);
  assert.match(forwarded, /\r\nx-request-id: abc-1(?:\r\n|$)/i);
  assert.match(head, /\r\nvia: 1\.1 gateway/i);
  assert.match(head, /\r\nx-request-id: abc-1/i);
});

Deno.test("gateway removes hop-by-hop headers in both directions", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    const request = await connection.request();
    await connection.send(
      answer(request, "Connection: x-private", "X-Private: 1", "Keep-Alive: 9"),
    );
  });
  await using gateway = await startTestGateway(routeTo(upstream));

  const response = await exchangeRaw(
    gateway.port,
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: x-secret, te\r\n" +
      "X-Secret: 1\r\nTE: gzip\r\nProxy-Connection: 1\r\n\r\n",
  );

  assert.doesNotMatch(response, /x-secret|proxy-connection|gzip/i);
  assert.doesNotMatch(response, /x-private|keep-alive: 9/i);
});

for (
  const { name, script, status, code } of [
    {
      name: "closes without a response",
      script: "",
      status: 502,
      code: "upstream_closed",
    },
    {
      name: "answers something else than HTTP",
      script: "SSH-2.0-OpenSSH\r\n\r\n",
      status: 502,
      code: "upstream_protocol_error",
    },
    {
      name: "closes inside its head",
      script: "HTTP/1.1 200 OK\r\nContent-Le",
      status: 502,
      code: "upstream_closed",
    },
  ]
) {
  Deno.test(`gateway returns ${status} when the upstream ${name}`, async () => {
    await using upstream = new RawUpstream(async (connection) => {
      await connection.request();
      await connection.send(script);
    });
    await using gateway = await startTestGateway(routeTo(upstream));

    const response = await fetch(`${gateway.origin}/`, { method: "POST" });

    assert.equal(response.status, status);
    assert.equal(response.headers.get("x-gateway-error"), code);
    assert.doesNotMatch(await response.text(), /127\.0\.0\.1/);
  });
}

Deno.test("gateway returns 503 when the upstream refuses the connection", async () => {
  const upstream = echoUpstream();
  await upstream.stop();
  await using gateway = await startTestGateway(routeTo(upstream));

  const response = await fetch(gateway.origin);

  assert.equal(response.status, 503);
  assert.equal(await response.text(), "upstream connect failed");
  assert.match(
    gateway.accessLog.join(""),
    new RegExp(`reason=upstream_connect_failed .*127.0.0.1:${upstream.port}`),
  );
});

Deno.test("gateway cuts the response when the upstream closes inside the body", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  });
  await using gateway = await startTestGateway(routeTo(upstream));

  const response = await fetch(gateway.origin);

  assert.equal(response.status, 200);
  await assert.rejects(response.text());
});

Deno.test("gateway aborts the upstream call when the client is gone", async () => {
  const aborted = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.closedByPeer();
    aborted.resolve();
  });
  await using gateway = await startTestGateway(routeTo(upstream));
  const client = await connectRaw(gateway.port);
  await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");

  client.close();

  await aborted.promise;
});

Deno.test("gateway relays each event before the next one is written", async () => {
  const next = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 0\n\n",
    );
    for (const [index, asked] of next.entries()) {
      await asked.promise;
      await connection.send(`data: ${index + 1}\n\n`);
    }
  });
  await using gateway = await startTestGateway(routeTo(upstream));
  const response = await fetch(gateway.origin);
  const events: string[] = [];

  for await (const chunk of response.body ?? []) {
    events.push(new TextDecoder().decode(chunk));
    next[events.length - 1]?.resolve();
  }

  assert.deepEqual(events, ["data: 0\n\n", "data: 1\n\n", "data: 2\n\n"]);
});

Deno.test("gateway passes WebSocket messages both ways", async () => {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => socket.send(`echo ${data}`);
      return response;
    },
  );
  await using gateway = await startTestGateway({
    routes: [{ backends: [{ host: `127.0.0.1:${server.addr.port}` }] }],
  });
  const socket = new WebSocket(gateway.origin.replace("http", "ws"));
  const reply = Promise.withResolvers<unknown>();
  const closed = Promise.withResolvers<void>();
  socket.onopen = () => socket.send("hello");
  socket.onmessage = ({ data }) => reply.resolve(data);
  socket.onclose = () => closed.resolve();

  assert.equal(await reply.promise, "echo hello");
  socket.close();
  await closed.promise;
});

Deno.test("gateway passes 103 and trailers on to a client that reads them", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n" +
        "2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n",
    );
  });
  await using gateway = await startTestGateway(routeTo(upstream));
  const client = await connectRaw(gateway.port);
  await client.send(
    "GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n",
  );

  const hints = await client.head();
  const response = await client.request();
  client.close();

  assert.match(hints, /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>\r\n/);
  assert.match(response, /\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n$/);
});

Deno.test("gateway requests the body only when the upstream wants it", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.head();
    await connection.send("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
  });
  await using gateway = await startTestGateway(routeTo(upstream));

  const response = await exchangeRaw(
    gateway.port,
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" +
      "Expect: 100-continue\r\n\r\n",
  );

  assert.equal(statusOf(response), 417);
});

Deno.test("gateway lets a client with a body wait for 100 and sends it on", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.head();
    await connection.send("HTTP/1.1 100 Continue\r\n\r\n");
    await connection.send(answer(await connection.take(5)));
  });
  await using gateway = await startTestGateway(routeTo(upstream));
  const client = await connectRaw(gateway.port);
  await client.send(
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" +
      "Expect: 100-continue\r\n\r\n",
  );

  assert.match(await client.head(), /^HTTP\/1\.1 100 /);
  await client.send("hello");
  assert.match(await client.request(), /\r\n\r\nhello$/);
  client.close();
});

Deno.test("gateway rejects a body beyond maxBodyBytes", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway({
    config: { limits: { maxBodyBytes: 4 } },
    ...routeTo(upstream),
  });

  const stated = await fetch(gateway.origin, { method: "POST", body: "12345" });
  const chunked = await fetch(gateway.origin, {
    method: "POST",
    body: new Blob(["12345"]).stream(),
  });

  assert.deepEqual([stated.status, chunked.status], [413, 413]);
  await stated.body?.cancel();
  await chunked.body?.cancel();
});

Deno.test("gateway rejects a path that has no single meaning", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(routeTo(upstream));

  for (const path of ["/../admin", "/a/..%2Fadmin", "/a\\b", "/a%00"]) {
    const response = await exchangeRaw(
      gateway.port,
      `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`,
    );
    assert.equal(statusOf(response), 400, path);
  }
});

Deno.test("source.address is that of the client only behind a trusted proxy", async () => {
  await using upstream = echoUpstream();
  const [route] = routeTo(upstream).routes;
  const rule = "cidr('203.0.113.0/24').containsIP(source.address)";
  const routes = [{
    ...route,
    policies: { authorization: { policy: { matchExpressions: [rule] } } },
  }];
  await using direct = await startTestGateway({ routes });
  await using behind = await startTestGateway({
    config: { trustedProxies: ["127.0.0.0/8", "198.51.100.7"] },
    routes,
  });
  const statusAt = async (port: number, forwardedFor: string) =>
    statusOf(
      await exchangeRaw(
        port,
        `GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${forwardedFor}\r\n\r\n`,
      ),
    );

  assert.equal(await statusAt(direct.port, "203.0.113.9"), 403);
  assert.equal(
    await statusAt(behind.port, "6.6.6.6, 203.0.113.9, 198.51.100.7"),
    200,
  );
  assert.equal(await statusAt(behind.port, "203.0.113.9, 6.6.6.6"), 403);
  assert.equal(await statusAt(behind.port, "unknown"), 403);
});
