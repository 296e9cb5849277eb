import assert from "node:assert/strict";
import { createAuthority } from "../../harness/login/certificates.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  data,
  headers,
  Http2Client,
  POST,
} from "../../harness/clients/http2_client.ts";
import { RawClient } from "../../harness/clients/raw_client.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";

const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

/** A rate that no client of these tests reaches, and a short credit. */
const strict = {
  minRequestBodyRate: 1_000_000,
  timeouts: { requestBody: "300ms" },
};

/** An upstream that takes request bodies byte by byte, and never answers. */
class ByteUpstream extends RawUpstream {
  #waiting = new Map<string, () => void>();

  constructor() {
    super(async (connection) => {
      const head = await connection.head();
      const name = /^\S+ \/(\S*)/.exec(head)?.[1] ?? "";
      for (;;) {
        await connection.take(1);
        this.#waiting.get(name)?.();
      }
    });
  }

  /** Resolves when the upstream gets the next byte of the request to that path. */
  nextByte(name: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(name, resolve));
  }
}

function routeTo({ port }: RawUpstream) {
  return {
    routes: [{ name: "all", backends: [{ host: `127.0.0.1:${port}` }] }],
  };
}

for (const ca of [undefined, authority.cert]) {
  const scheme = ca === undefined ? "HTTP" : "HTTPS";
  const listener = ca === undefined
    ? strict
    : { ...strict, protocol: "HTTPS", tls: own };

  Deno.test(`gateway ends a body that trickles with 408: HTTP/1.1, ${scheme}`, async () => {
    await using upstream = new ByteUpstream();
    await using gateway = await GatewayProcess.start({
      config: routeTo(upstream),
      listener,
    });
    using client = await RawClient.connect(gateway.port, ca);
    await client.send(
      "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n",
    );
    let response: Awaited<ReturnType<RawClient["receive"]>>;
    const received = client.receive().then((it) => response = it);
    while (response === undefined) {
      const passedOn = upstream.nextByte("slow");
      await client.send("x").catch(() => {});
      await Promise.race([passedOn, received]);
    }

    assert.equal(response.status, 408);
    assert.match(
      await gateway.accessLog.next(/http\.path=\/slow/),
      /http\.status=408 .*reason=request_timeout error="Cannot read the body: slower than 1000000 bytes per second"/,
    );
  });

  Deno.test(`gateway ends a body that trickles, but no stream of gRPC: HTTP/2, ${scheme}`, async () => {
    await using upstream = new ByteUpstream();
    await using gateway = await GatewayProcess.start({
      config: routeTo(upstream),
      listener,
    });
    using client = await Http2Client.connect(gateway.port, ca);
    const open = (stream: number, path: string, type: string) =>
      client.send(headers(
        stream,
        [
          ...POST.map(([name, value]) =>
            [name, name === ":path" ? path : value] as const
          ),
          ["content-type", type],
        ],
        false,
      ));
    await open(1, "/grpc", "application/grpc");
    await open(3, "/slow", "application/json");
    let isOver = false;
    const over = client.fields(3).then((fields) => {
      isOver = true;
      return fields;
    });
    while (!isOver) {
      const passedOn = [upstream.nextByte("slow"), upstream.nextByte("grpc")];
      await client.send(data(1, "x", false), data(3, "x", false));
      await Promise.race([Promise.all(passedOn), over]);
    }
    const passedOn = upstream.nextByte("grpc");
    await client.send(data(1, "x", false));
    await passedOn;

    assert.deepEqual((await over).slice(0, 2), [":status", "408"]);
    assert.match(
      await gateway.accessLog.next(/http\.path=\/slow/),
      /http\.status=408 .*reason=request_timeout error="Cannot read the body: slower/,
    );
  });
}

/** A WebSocket server that answers each message, and a gateway with a short idle time. */
async function startWebSockets() {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request, {
        idleTimeout: 0,
      });
      socket.onmessage = ({ data }) => socket.send(data);
      return response;
    },
  );
  const gateway = await GatewayProcess.start({
    config: {
      routes: [{ backends: [{ host: `127.0.0.1:${server.addr.port}` }] }],
    },
    listener: { timeouts: { webSocket: "300ms" } },
  });
  return {
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

function closed(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.onerror = () => {};
    socket.onclose = () => resolve();
  });
}

Deno.test("gateway closes a WebSocket without traffic, and keeps one with traffic", async () => {
  await using test = await startWebSockets();
  const { gateway } = test;
  const busy = new WebSocket(`ws://127.0.0.1:${gateway.port}/busy`);
  let echoes = 0;
  busy.onopen = () => busy.send("x");
  busy.onmessage = () => {
    echoes++;
    busy.send("x");
  };
  const idle = new WebSocket(`ws://127.0.0.1:${gateway.port}/idle`);

  await closed(idle);

  assert.match(
    await gateway.accessLog.next(/http\.path=\/idle/),
    /http\.status=101 .*reason=tunnel_idle error="Closed the tunnel: no data for 300 ms"/,
  );
  const before = echoes;
  await new Promise<void>((resolve) => {
    busy.onmessage = () => resolve();
  });
  assert.ok(before > 0);
  const end = closed(busy);
  busy.close();
  await end;
});

Deno.test("gateway closes a WebSocket over HTTP/2 without traffic", async () => {
  await using test = await startWebSockets();
  const { gateway } = test;
  using client = await Http2Client.connect(gateway.port);
  await client.send(headers(1, [
    [":method", "CONNECT"],
    [":protocol", "websocket"],
    [":scheme", "http"],
    [":path", "/idle"],
    [":authority", "localhost"],
    ["sec-websocket-version", "13"],
  ], false));
  await client.fields(1);

  assert.match(await client.verdict(), /^reset 1 /);
  assert.match(
    await gateway.accessLog.next(/http\.path=\/idle/),
    /reason=tunnel_idle/,
  );
});
