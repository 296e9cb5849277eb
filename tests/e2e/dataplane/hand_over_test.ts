import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { createAuthority } from "../../harness/login/certificates.ts";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  configFor,
  GatewayProcess,
} from "../../harness/gateway/gateway_process.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { connectRaw } from "../../harness/clients/raw_exchange.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const QUEUED = 40;

const authority = await createAuthority();
const certificate = await authority.issueServer(["localhost"]);

const protocols = [
  { protocol: "HTTP", listener: {} },
  {
    protocol: "HTTPS",
    listener: { protocol: "HTTPS", tls: certificate },
  },
] as const;

function echoUpstream(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("done"));
    }
  });
}

function routeTo({ port }: RawUpstream, settings = {}) {
  return {
    config: settings,
    routes: [{ name: "all", backends: [{ host: `127.0.0.1:${port}` }] }],
  };
}

/** A client whose connection the kernel of the gateway's machine has accepted. */
async function connectClient(port: number): Promise<net.Socket> {
  const socket = net.connect({ port, host: "127.0.0.1" });
  await once(socket, "connect");
  return socket;
}

/** Sends a request on a new connection; returns the first line of the response. */
async function exchange(
  socket: net.Socket,
  protocol: "HTTP" | "HTTPS",
): Promise<string> {
  const stream = protocol === "HTTP"
    ? socket
    : tls.connect({ socket, servername: "localhost", ca: authority.cert });
  let received = "";
  try {
    stream.write(GET);
    for await (const chunk of stream) {
      received += String(chunk);
      if (received.endsWith("done")) break;
    }
  } catch (error) {
    received ||= String(error);
  } finally {
    stream.destroy();
    socket.destroy();
  }
  return received.split("\r\n", 1)[0] ?? "";
}

for (const { protocol, listener } of protocols) {
  const waysToClose = [
    {
      name: "on SIGTERM",
      close: (gateway: GatewayProcess) => gateway.signal("SIGTERM"),
    },
    {
      name: "on a reload without the port",
      close: ({ file }: GatewayProcess, upstream: RawUpstream) =>
        replaceFile(file, {
          ...configFor(0, routeTo(upstream)),
          routes: [],
        }),
    },
  ];
  for (const { name, close } of waysToClose) {
    Deno.test(`gateway serves clients in the queue of a port that closes ${name}: ${protocol}`, async () => {
      await using upstream = echoUpstream();
      await using gateway = await GatewayProcess.start({
        config: routeTo(upstream, { drainTimeout: "30s" }),
        listener,
      });
      gateway.signal("SIGSTOP");
      const clients = await Promise.all(
        Array.from({ length: QUEUED }, () => connectClient(gateway.port)),
      );
      await close(gateway, upstream);
      gateway.signal("SIGCONT");

      const answers = await Promise.all(
        clients.map((client) => exchange(client, protocol)),
      );

      assert.deepEqual(new Set(answers), new Set(["HTTP/1.1 200 OK"]));
    });
  }
}

/** Results of clients: counts by first line of the response, or by error. */
type Outcomes = Map<string, number>;

/** Behavior of the clients of a test. */
interface Load {
  readonly port: number;
  readonly signal: AbortSignal;
  /** True if each request has a connection of its own. */
  renews: boolean;
}

/** Sends requests, one after the other, on each connection as long as the gateway keeps it. */
async function keepSending(load: Load, outcomes: Outcomes): Promise<void> {
  const { port, signal } = load;
  while (!signal.aborted) {
    try {
      const client = await connectRaw(port);
      try {
        for (let isOpen = true; isOpen && !signal.aborted;) {
          await client.send(GET);
          const response = await client.request();
          count(outcomes, response.split("\r\n", 1)[0] ?? "");
          isOpen = !load.renews && !/^connection: close/im.test(response);
        }
      } finally {
        client.close();
      }
    } catch (error) {
      count(outcomes, String(error));
    }
  }
}

function count(outcomes: Outcomes, outcome: string): void {
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}

Deno.test("gateway hands a port over to a second process under load", async () => {
  await using upstream = echoUpstream();
  const [admin, stats] = [freePort(), freePort()];
  const options = {
    port: freePort(),
    config: routeTo(upstream, {
      reusePort: true,
      adminAddr: `127.0.0.1:${admin}`,
      statsAddr: `127.0.0.1:${stats}`,
    }),
  };
  await using first = await GatewayProcess.start(options);
  const outcomes: Outcomes = new Map();
  const stop = new AbortController();
  const load: Load = {
    port: options.port,
    signal: stop.signal,
    renews: true,
  };
  const clients = Array.from({ length: 8 }, () => keepSending(load, outcomes));

  await using second = await GatewayProcess.start(options);
  // A setting of the kernel decides whether clients that connect in the instant of closing are lost; see the documentation.
  load.renews = false;
  first.signal("SIGTERM");
  assert.equal(await first.exitCode(), 0);
  load.renews = true;
  const served = second.accessLog.all.length;
  while (second.accessLog.all.length < served + 20) {
    await second.accessLog.next(/http\.status=200/);
  }
  stop.abort();
  await Promise.all(clients);

  assert.deepEqual([...outcomes.keys()], ["HTTP/1.1 200 OK"]);
  const ready = await fetch(`http://127.0.0.1:${stats}/healthz/ready`);
  await ready.body?.cancel();
  assert.equal(ready.status, 200);
});

Deno.test("a second gateway on the same port fails to start without reusePort", async () => {
  await using upstream = echoUpstream();
  await using first = await GatewayProcess.start({ config: routeTo(upstream) });
  const second = gatewayCommand({ args: ["-f", first.file] });

  const { code, stderr } = await second.output();

  assert.equal(code, 1);
  assert.match(
    new TextDecoder().decode(stderr),
    new RegExp(
      `Cannot listen on port ${first.port} of 127.0.0.1: address already in use`,
    ),
  );
});
