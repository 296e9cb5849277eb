/** Clients that are slow, or many requests of one client, leave a backend to all others. */
import assert from "node:assert/strict";
import {
  FRAME_TYPES,
  SETTINGS,
} from "../../../src/http/http2/frames/http2_protocol.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  frame,
  GET,
  headers,
  Http2Client,
  settings,
  uint32,
} from "../../harness/clients/http2_client.ts";
import { connectRaw } from "../../harness/clients/raw_exchange.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

const CHUNKED = "Transfer-Encoding: chunked\r\n\r\n";

/** An upstream of which the gateway may use sixteen connections. */
async function startSite(
  { policies, limits }: {
    readonly policies?: Readonly<Record<string, unknown>>;
    readonly limits?: Readonly<Record<string, unknown>>;
  } = {},
) {
  const upstream = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("well"));
    }
  });
  const gateway = await startTestGateway({
    config: {
      trustedProxies: ["127.0.0.0/8"],
      workers: 1,
      ...(limits && { limits }),
    },
    routes: [{
      backends: [{ backend: "tools" }],
      ...(policies && { policies }),
    }],
    backends: [{
      name: "tools",
      static: { host: "127.0.0.1", port: upstream.port },
      limits: { maxConnections: 16, maxPendingRequests: 16 },
    }],
  });
  return {
    gateway,
    upstream,
    /** Waits until so many requests wait for a connection; returns the number of connections in use. */
    async activeOnceWaiting(count: number) {
      const read = async () =>
        (await gateway.gateway.dataPlane.call("tasks", 0)).upstreams[0];
      await turnsInto(count, async () => (await read())?.waiting);
      return (await read())?.active;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** Clients that a key identifies. */
const apiKeyAuthentication = {
  mode: "Optional",
  keys: Array.from({ length: 40 }, (_, number) => ({
    key: `key-number-${number}-of-forty`,
    metadata: { name: `client ${number}` },
  })),
};

/** Waits until what is read is `value`. */
async function turnsInto(
  value: number,
  read: () => Promise<number | undefined>,
): Promise<void> {
  while (await read() !== value) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Begins a request of a client behind a proxy. */
async function begin(port: number, client: string, rest: string) {
  const connection = await connectRaw(port);
  await connection.send(
    `POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${client}\r\n${rest}`,
  );
  return connection;
}

async function getAs(port: number, client: string): Promise<string> {
  const connection = await connectRaw(port);
  await connection.send(
    `GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${client}\r\n\r\n`,
  );
  const response = await connection.request();
  connection.close();
  return response;
}

Deno.test("clients that send short bodies slowly occupy no connection of a backend", async () => {
  await using site = await startSite();
  const { port, gateway } = site.gateway;
  const slow = await Promise.all(
    Array.from(
      { length: 40 },
      () => begin(port, "192.0.2.1", "Content-Length: 10\r\n\r\nfive."),
    ),
  );

  assert.match(await getAs(port, "192.0.2.2"), /well$/);
  const { upstreams } = await gateway.dataPlane.call("tasks", 0);
  assert.equal(upstreams[0]?.active, 0);

  for (const connection of slow) {
    await connection.send("five.");
    assert.match(await connection.request(), /well$/);
    connection.close();
  }
});

Deno.test("one client gets at most half of a backend's connections and places, whatever it does", async () => {
  await using site = await startSite();
  const { port } = site.gateway;
  const taken = await Promise.all(
    Array.from({ length: 40 }, () => begin(port, "192.0.2.1", CHUNKED)),
  );

  assert.equal(await site.activeOnceWaiting(8), 8);
  for (const client of ["192.0.2.2", "192.0.2.3", "2001:db8::1"]) {
    assert.match(await getAs(port, client), /well$/);
  }
  for (const connection of taken) connection.close();
});

Deno.test("an address with many keys has one share of a backend's connections", async () => {
  await using site = await startSite({ policies: { apiKeyAuthentication } });
  const { port } = site.gateway;
  const taken = await Promise.all(
    apiKeyAuthentication.keys.map(({ key }) =>
      begin(port, "192.0.2.1", `Authorization: Bearer ${key}\r\n${CHUNKED}`)
    ),
  );

  assert.equal(await site.activeOnceWaiting(8), 8);
  assert.match(await getAs(port, "192.0.2.2"), /well$/);
  for (const connection of taken) connection.close();
});

Deno.test("a key with many addresses has one share of a backend's connections", async () => {
  await using site = await startSite({ policies: { apiKeyAuthentication } });
  const { port } = site.gateway;
  const [first] = apiKeyAuthentication.keys;
  const taken = await Promise.all(
    Array.from({ length: 40 }, (_, number) =>
      begin(
        port,
        `198.51.100.${number}`,
        `Authorization: Bearer ${first?.key}\r\n${CHUNKED}`,
      )),
  );

  assert.equal(await site.activeOnceWaiting(8), 8);
  assert.match(await getAs(port, "192.0.2.2"), /well$/);
  for (const connection of taken) connection.close();
});

Deno.test("short bodies are forwarded as they arrive when there is no memory for them", async () => {
  await using site = await startSite({
    limits: { maxBodyMemoryBytes: 1024 * 1024 },
  });
  const { port, gateway } = site.gateway;
  const half = 32 * 1024;
  const slow = await Promise.all(
    Array.from({ length: 18 }, (_, number) =>
      begin(
        port,
        `198.51.100.${number}`,
        `Content-Length: ${2 * half}\r\n\r\n${"a".repeat(half)}`,
      )),
  );

  // Sixteen are held.
  await turnsInto(2, async () => {
    const { upstreams } = await gateway.dataPlane.call("tasks", 0);
    return upstreams[0]?.active;
  });
  for (const connection of slow) {
    await connection.send("a".repeat(half));
    assert.match(await connection.request(), /well$/);
    connection.close();
  }
});

Deno.test("a client that makes no room for short responses occupies no connection of a backend", async () => {
  await using site = await startSite();
  const { port, gateway } = site.gateway;
  using client = await Http2Client.connect(port);
  await client.send(settings([SETTINGS.initialWindowSize, 0]));
  for (let stream = 1; stream < 80; stream += 2) {
    await client.send(headers(stream, GET));
    await client.receive(FRAME_TYPES.headers, stream);
  }

  const { upstreams } = await gateway.dataPlane.call("tasks", 0);
  assert.equal(upstreams[0]?.active, 0);
  await client.send(frame(FRAME_TYPES.windowUpdate, 0, 1, uint32(100)));
  const { payload } = await client.receive(FRAME_TYPES.data, 1);
  assert.equal(new TextDecoder().decode(payload), "well");
});

Deno.test("responses that clients of HTTP/2 leave unread take memory for bodies, and no more than there is", async () => {
  await using site = await startSite({
    limits: { maxBodyMemoryBytes: 1024 * 1024 },
  });
  const { port, gateway } = site.gateway;
  const usedBytes = async () =>
    (await gateway.dataPlane.call("stores"))
      .find(({ name }) => name === "requestBodies")?.used;
  {
    using client = await Http2Client.connect(port);
    await client.send(settings([SETTINGS.initialWindowSize, 0]));
    for (let stream = 1; stream < 21; stream += 2) {
      await client.send(headers(stream, GET));
      await client.receive(FRAME_TYPES.headers, stream);
    }

    assert.equal(await usedBytes(), 10 * 1024);
  }
  await turnsInto(0, usedBytes);
});
