import assert from "node:assert/strict";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { createAuthority } from "../../harness/login/certificates.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { NodeUpstream } from "../../harness/servers/node_upstreams.ts";
import { connectRaw, exchangeRaw } from "../../harness/clients/raw_exchange.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

const issuer = await createTokenIssuer();
const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

const jwtAuthentication = {
  mode: "Optional",
  providers: [{
    issuer: issuer.issuer,
    audiences: ["https://gw.example/mcp"],
    jwks: { inline: jwksOf(issuer) },
  }],
};

/** An upstream that answers each request with the request itself. */
function echoUpstream(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) await connection.send(answer(await connection.request()));
  });
}

/** An upstream that always gives that answer. */
function fixedUpstream(response: string | Uint8Array): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(response);
    }
  });
}

function backendsOf({ port }: { readonly port: number }) {
  return [{ host: `127.0.0.1:${port}` }];
}

/** A route to that upstream whose requests and responses are changed. */
function transforming(
  upstream: { readonly port: number },
  transformation: unknown,
  policies: Readonly<Record<string, unknown>> = {},
) {
  return {
    routes: [{
      name: "all",
      policies: { transformation, ...policies },
      backends: backendsOf(upstream),
    }],
  };
}

function headerOf(request: string, name: string): string[] {
  return [...request.matchAll(new RegExp(`^${name}: (.*)\\r$`, "gim"))].map(
    ([, value = ""]) => value,
  );
}

Deno.test("a claim reaches the backend as a header, and clients cannot set that header", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(transforming(upstream, {
    request: {
      set: [
        { name: "x-user", value: "jwt.sub" },
        { name: "x-roles", value: "jwt.roles" },
      ],
    },
  }, { jwtAuthentication }));
  const send = async (claims: Record<string, unknown> | undefined) => {
    const token = claims && await issuer.sign(claims);
    const response = await fetchRaw(gateway.origin, {
      headers: {
        "X-User": "admin",
        "x-roles": "admin",
        ...(token && { authorization: `Bearer ${token}` }),
      },
    });
    const request = new TextDecoder().decode(response.bytes);
    return [headerOf(request, "x-user"), headerOf(request, "x-roles")];
  };

  assert.deepEqual(await send({ sub: "anna", roles: ["a", "b"] }), [
    ["anna"],
    ['["a","b"]'],
  ]);
  assert.deepEqual(await send(undefined), [[], []]);
  assert.deepEqual(await send({ sub: "anna\r\nx-roles: admin" }), [[], []]);
});

Deno.test("a tenant from a token becomes one segment of the path", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(transforming(upstream, {
    request: {
      set: [{
        name: ":path",
        value: "'/tenants/' + jwt.tenant + request.pathAndQuery",
      }],
    },
  }, { jwtAuthentication }));
  const send = async (tenant: string) => {
    const token = await issuer.sign({ tenant });
    const { status, bytes } = await fetchRaw(`${gateway.origin}/a?b=c`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return `${status} ${new TextDecoder().decode(bytes).split("\r\n")[0]}`;
  };

  assert.equal(await send("blue"), "200 GET /tenants/blue/a?b=c HTTP/1.1");
  assert.equal(await send("../../../../admin"), "500 transformation failed");
  assert.equal(await send("a HTTP/1.1\r\nx: y"), "500 transformation failed");
  assert.match(
    gateway.accessLog.join(""),
    /reason=transformation_failed error="Cannot set \\":path\\": the value is not a path/,
  );
  assert.doesNotMatch(gateway.accessLog.join(""), /error=.*admin/);
});

Deno.test("a rewritten request has the length of its new body, chunked or not, and the connection stays open", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(transforming(upstream, {
    request: { body: "request.body.upperAscii() + '!'" },
  }));
  const client = await connectRaw(gateway.port);
  const heads = [
    "Content-Length: 5\r\n\r\nhello",
    "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    "Content-Length: 5\r\nDigest: x\r\nContent-MD5: y\r\n\r\nhello",
  ];

  for (const head of heads) {
    await client.send(`POST / HTTP/1.1\r\nHost: a\r\n${head}`);
    const response = await client.request();

    assert.match(response, /\r\n\r\nHELLO!$/);
    assert.deepEqual(headerOf(response, "content-length")[1], "6");
    assert.doesNotMatch(response, /transfer-encoding|^digest|^content-md5/im);
  }
  client.close();
  assert.equal(upstream.accepted, 1);
});

const http2: [string, "HTTP1" | "HTTP2"][] = [
  ["an HTTP/1.1", "HTTP1"],
  ["an HTTP/2", "HTTP2"],
];
for (const [name, protocol] of http2) {
  Deno.test(`bodies are rewritten both ways between a client of HTTP/2 and ${name} upstream`, async () => {
    await using upstream = protocol === "HTTP1"
      ? echoUpstream()
      : await NodeUpstream.http2((stream, headers) => {
        text(stream).then((body) => {
          stream.respond({ ":status": 200, "content-type": "text/plain" });
          stream.write("Content-Length: ");
          stream.end(`${headers["content-length"]}\r\n\r\n${body}`);
        });
      });
    await using gateway = await startTestGateway({
      backends: [{
        name: "echo",
        static: { host: "127.0.0.1", port: upstream.port },
        protocol,
      }],
      routes: [{
        policies: {
          transformation: {
            request: { body: "toJson({'got': request.body})" },
            response: {
              set: [{ name: "x-length", value: "size(response.body)" }],
              body:
                "response.body.substring(response.body.lastIndexOf('{')) + '.'",
            },
          },
        },
        backends: [{ backend: "echo" }],
      }],
    }, { protocol: "HTTPS", tls: own });

    const { headers, body } = await postHttp2(gateway.port, "hello");

    assert.equal(body, '{"got":"hello"}.');
    assert.equal(headers["content-length"], "16");
    assert.ok(Number(headers["x-length"]) > 16);
  });
}

async function postHttp2(port: number, body: string) {
  const session = connect(`https://localhost:${port}`, {
    ca: authority.cert,
    host: "127.0.0.1",
  });
  const stream = session.request({ ":method": "POST", ":path": "/" });
  const head = Promise.withResolvers<Record<string, unknown>>();
  stream.on("response", head.resolve);
  stream.end(body);
  const answered = await text(stream);
  const closed = new Promise<void>((resolve) => session.close(resolve));
  await closed;
  return { headers: await head.promise, body: answered };
}

Deno.test("a response is rewritten with its length, also where the upstream sends chunks, and for HEAD there is none", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    for (;;) {
      const isHead = (await connection.request()).startsWith("HEAD");
      const head =
        'HTTP/1.1 200 OK\r\nETag: "1"\r\nTransfer-Encoding: chunked\r\n\r\n';
      await connection.send(isHead ? head : head + "3\r\nold\r\n0\r\n\r\n");
    }
  });
  await using gateway = await startTestGateway(transforming(upstream, {
    response: {
      set: [{ name: ":status", value: "299" }],
      body: "response.body + ' and new'",
    },
  }));
  const client = await connectRaw(gateway.port);

  await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const got = await client.request();
  await client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  const asked = await client.head();
  await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const again = await client.request();
  client.close();

  assert.match(
    got,
    /^HTTP\/1.1 299 [^]*content-length: 11\r\n[^]*old and new$/i,
  );
  assert.doesNotMatch(got, /etag|transfer-encoding/i);
  assert.match(asked, /^HTTP\/1.1 299 /);
  assert.doesNotMatch(asked, /etag|content-length: [1-9]/i);
  assert.match(again, /old and new$/);
});

Deno.test("a client that takes compressed responses gets one that could be read", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(transforming(upstream, {
    response: { set: [{ name: "x-size", value: "size(response.body)" }] },
  }));

  const { headers, bytes } = await fetchRaw(gateway.origin, {
    headers: { "accept-encoding": "gzip" },
  });

  assert.equal(headers["x-size"], String(bytes.length));
  assert.doesNotMatch(new TextDecoder().decode(bytes), /accept-encoding/i);
});

Deno.test("responses of the gateway itself are changed too: no route, no token, no backend", async () => {
  await using gateway = await startTestGateway({
    routes: [
      {
        name: "token",
        hostnames: ["token.example"],
        policies: {
          jwtAuthentication: { ...jwtAuthentication, mode: "Strict" },
        },
        backends: [{ host: "127.0.0.1:9" }],
      },
      {
        name: "gone",
        hostnames: ["gone.example"],
        backends: [{ host: "127.0.0.1:9" }],
      },
    ],
    policies: [{
      name: "errors",
      targetRefs: [{ kind: "Gateway", name: "default" }],
      phase: "PreRouting",
      traffic: {
        transformation: {
          response: {
            set: [
              { name: "content-type", value: "'application/json'" },
              { name: "x-code", value: "response.code" },
            ],
            body: "{'status': response.code, 'text': response.body}",
          },
        },
      },
    }],
  });
  const ask = async (host: string) => {
    const { status, headers, bytes } = await fetchRaw(gateway.origin, {
      headers: { host },
    });
    const { text, ...rest } = JSON.parse(new TextDecoder().decode(bytes));
    assert.equal(headers["content-length"], String(bytes.length));
    assert.equal(headers["x-code"], String(status));
    return { status, rest, text };
  };

  assert.deepEqual(await ask("none.example"), {
    status: 404,
    rest: { status: 404 },
    text: "route not found",
  });
  const refused = await ask("token.example");
  assert.equal(refused.status, 401);
  assert.equal(JSON.parse(refused.text).error, "unauthorized");
  assert.equal((await ask("gone.example")).text, "upstream connect failed");
});

Deno.test("a response that cannot be changed is a 500, which the other policies still decorate", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(transforming(upstream, {
    response: {
      set: [{ name: ":status", value: "response.headers['x-status']" }],
    },
  }, { cors: { allowOrigins: ["https://app.example"] } }));

  const { status, headers } = await fetchRaw(gateway.origin, {
    headers: { origin: "https://app.example" },
  });

  assert.equal(status, 500);
  assert.equal(headers["x-gateway-error"], "transformation_failed");
  assert.equal(headers["access-control-allow-origin"], "https://app.example");
});

Deno.test("properties of an LLM request become a header", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(transforming(upstream, {
    request: { set: [{ name: "x-model", value: "llm.requestModel" }] },
    response: { set: [{ name: "x-model", value: "llm.requestModel" }] },
  }));
  const ask = async (body: string) => {
    const { headers, bytes } = await fetchRaw(
      `${gateway.origin}/v1/chat/completions`,
      { method: "POST", body, headers: { "x-model": "smuggled" } },
    );
    const request = new TextDecoder().decode(bytes);
    return [headerOf(request, "x-model")[0], headers["x-model"]];
  };

  assert.deepEqual(await ask('{"model":"small"}'), ["small", "small"]);
  assert.deepEqual(await ask("no JSON"), [undefined, undefined]);
});

Deno.test("a policy of a backend changes only messages of that backend, after the route's", async () => {
  await using first = echoUpstream();
  await using second = echoUpstream();
  const own = (name: string, { port }: RawUpstream) => ({
    name,
    static: { host: "127.0.0.1", port },
  });
  await using gateway = await startTestGateway({
    backends: [own("first", first), own("second", second)],
    routes: ["first", "second"].map((backend) => ({
      name: backend,
      hostnames: [`${backend}.example`],
      policies: {
        transformation: {
          request: { set: [{ name: "x-hops", value: "'route'" }] },
          response: {
            set: [{
              name: "x-back",
              value:
                "('x-back' in response.headers ? response.headers['x-back'] : '') + 'route'",
            }],
          },
        },
      },
      backends: [{ backend }],
    })),
    policies: [{
      name: "of-first",
      targetRefs: [{ kind: "GatewayBackend", name: "first" }],
      backend: {
        transformation: {
          request: {
            set: [
              {
                name: "x-hops",
                value: "request.headers['x-hops'] + ',backend'",
              },
              { name: ":authority", value: "'inner.example'" },
            ],
          },
          response: { set: [{ name: "x-back", value: "'backend,'" }] },
        },
      },
    }],
  });
  const ask = async (host: string) => {
    const { headers, bytes } = await fetchRaw(gateway.origin, {
      headers: { host },
    });
    const request = new TextDecoder().decode(bytes);
    return [
      headerOf(request, "host")[0],
      headerOf(request, "x-hops")[0],
      headers["x-back"],
    ];
  };

  assert.deepEqual(await ask("first.example"), [
    "inner.example",
    "route,backend",
    "backend,route",
  ]);
  assert.deepEqual(await ask("second.example"), [
    "second.example",
    "route",
    "route",
  ]);
});

Deno.test("a path that is set before routing decides the route, and a prefix that is gone is not cut off", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway({
    routes: [{
      name: "v2",
      matches: [{ path: { type: "PathPrefix", value: "/v2" } }],
      policies: {
        transformation: {
          request: {
            set: [{
              name: ":path",
              value: "request.path == '/v2/odd' ? '/elsewhere' : request.path",
            }],
          },
        },
      },
      filters: [{
        type: "URLRewrite",
        urlRewrite: {
          path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/inner" },
        },
      }],
      backends: backendsOf(upstream),
    }],
    policies: [{
      name: "versions",
      targetRefs: [{ kind: "Gateway", name: "default" }],
      phase: "PreRouting",
      traffic: {
        transformation: {
          request: { set: [{ name: ":path", value: "'/v2' + request.path" }] },
        },
      },
    }],
  });
  const ask = async (path: string) => {
    const { status, bytes } = await fetchRaw(gateway.origin + path);
    return `${status} ${new TextDecoder().decode(bytes).split("\r\n")[0]}`;
  };

  assert.equal(await ask("/a"), "200 GET /inner/a HTTP/1.1");
  assert.equal(await ask("/odd"), "500 transformation failed");
});

Deno.test("bodies beyond the limit are rejected where a new body needs them, and pass where only a header does", async () => {
  await using upstream = echoUpstream();
  const limits = { config: { limits: { maxBufferBytes: 1024 } } };
  const long = "x".repeat(5000);
  await using strict = await startTestGateway({
    ...limits,
    ...transforming(upstream, { request: { body: "request.body" } }),
  });
  await using lenient = await startTestGateway({
    ...limits,
    ...transforming(upstream, {
      request: { set: [{ name: "x-copy", value: "request.body" }] },
    }),
  });
  await using reading = await startTestGateway({
    ...limits,
    ...transforming(upstream, { response: { body: "response.body" } }),
  });
  const post = { method: "POST", body: long } as const;

  assert.equal((await fetchRaw(strict.origin, post)).status, 413);
  const passed = await fetchRaw(lenient.origin, {
    ...post,
    headers: { "x-copy": "smuggled" },
  });
  const request = new TextDecoder().decode(passed.bytes);
  assert.ok(request.endsWith(long));
  assert.deepEqual(headerOf(request, "x-copy"), []);
  const refused = await fetchRaw(reading.origin, post);
  assert.equal(refused.status, 500);
  assert.equal(refused.headers["x-gateway-error"], "transformation_failed");
});

Deno.test("a stream of events begins at once although an expression reads its body", async () => {
  const held = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
    );
    await held.promise;
  });
  await using gateway = await startTestGateway(transforming(upstream, {
    response: {
      set: [
        { name: "x-body", value: "response.body" },
        { name: "x-code", value: "response.code" },
      ],
    },
  }));

  const response = await fetch(gateway.origin);
  const reader = response.body?.getReader();
  const first = await reader?.read();

  assert.equal(new TextDecoder().decode(first?.value), "data: 1\n\n");
  assert.equal(response.headers.get("x-body"), null);
  assert.equal(response.headers.get("x-code"), "200");
  held.resolve();
  await reader?.cancel();
});

Deno.test("a client that disconnects while a response is read ends the call to the upstream", async () => {
  const closed = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    begun.resolve();
    await connection.closedByPeer();
    closed.resolve();
  });
  await using gateway = await startTestGateway(transforming(upstream, {
    response: { body: "response.body" },
  }, { timeouts: { request: "60s" } }));
  const client = await connectRaw(gateway.port);
  await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await begun.promise;

  client.close();

  await closed.promise;
});

Deno.test("an upload that a new body makes needless does not stop the response", async () => {
  await using upstream = echoUpstream();
  await using gateway = await startTestGateway(transforming(upstream, {
    request: { body: "'fixed'" },
  }));

  const response = await exchangeRaw(
    gateway.port,
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n${
      "x".repeat(100_000)
    }`,
  );

  assert.match(response, /^HTTP\/1.1 200 [^]*\r\n\r\nfixed$/);
});

Deno.test("a response that a new body makes needless is not waited for", async () => {
  await using upstream = fixedUpstream(
    "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbegin",
  );
  await using gateway = await startTestGateway(transforming(upstream, {
    response: { body: "'short'" },
  }));

  const { headers, bytes } = await fetchRaw(gateway.origin);

  assert.equal(new TextDecoder().decode(bytes), "short");
  assert.equal(headers["content-length"], "5");
});
