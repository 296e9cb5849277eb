/** Endpoints that fail under load, and backends that fail over. */
import { GatewayProcess } from "../harness/gateway_process.ts";
import { type Finding, sleep } from "./drill.ts";

const CLIENTS = 25;
/** Requests per second of all clients. */
const RATE = 500;
const WARM_UP_MS = 2000;
const FAULT_MS = 30_000;
/** Share of the fault in which endpoints may still be found out. */
const DETECTION_MS = 3000;
const STREAMS = 1000;
const STREAMS_AT_ONCE = 50;

type Fault = "none" | "refused" | "hung" | "reset" | "slow" | "503";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const unavailable = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy";

/** A server with a fault that can be changed while it runs. */
class FaultyServer {
  readonly port: number;
  #listener: Deno.TcpListener;
  readonly #open = new Set<Deno.TcpConn>();
  #fault: Fault = "none";

  constructor() {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.port = this.#listener.addr.port;
    void this.#accept();
  }

  set fault(fault: Fault) {
    const before = this.#fault;
    this.#fault = fault;
    if (fault === "refused") this.close();
    else if (before === "refused") {
      this.#listener = Deno.listen({ hostname: "127.0.0.1", port: this.port });
      void this.#accept();
    }
  }

  close(): void {
    this.#listener.close();
    for (const connection of this.#open) connection.close();
    this.#open.clear();
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      this.#open.add(connection);
      void this.#serve(connection).catch(() => {}).finally(() => {
        if (this.#open.delete(connection)) connection.close();
      });
    }
  }

  async #serve(connection: Deno.TcpConn): Promise<void> {
    const chunk = new Uint8Array(64 * 1024);
    const write = (text: string) =>
      connection.write(new TextEncoder().encode(text));
    while (await connection.read(chunk) !== null) {
      switch (this.#fault) {
        case "hung":
          await sleep(3_600_000);
          break;
        case "reset":
          return;
        case "slow":
          await sleep(500);
          await write(ok);
          break;
        case "503":
          await write(unavailable);
          break;
        default:
          await write(ok);
      }
    }
  }
}

/** Each fault for half a minute at one of three endpoints, under load, with GET and with POST. */
export async function failingEndpoints(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const method of ["GET", "POST"]) {
    for (const fault of ["refused", "hung", "reset", "slow", "503"] as const) {
      const servers = [0, 1, 2].map(() => new FaultyServer());
      const endpoints = servers.map(({ port }) => ({
        host: "127.0.0.1",
        port,
      }));
      await using gateway = await GatewayProcess.start({
        config: {
          routes: [{
            timeouts: { backendRequest: "1s" },
            backends: [{ backend: "fleet" }],
          }],
          backends: [{ name: "fleet", endpoints }],
        },
      });
      const figures = await runLoad(gateway.origin, method, (isFaulty) => {
        const [first] = servers;
        if (first !== undefined) first.fault = isFaulty ? fault : "none";
      });
      for (const server of servers) server.close();
      findings.push({
        drill: `one of three endpoints ${fault}, ${method}`,
        figures,
      });
    }
  }
  return findings;
}

async function runLoad(
  origin: string,
  method: string,
  setFault: (isFaulty: boolean) => void,
): Promise<Finding["figures"]> {
  const counts = { requests: 0, failed: 0, failedOnceEjected: 0 };
  const startedAt = performance.now();
  const endsAt = startedAt + WARM_UP_MS + FAULT_MS;
  let sent = 0;
  const client = async () => {
    for (;;) {
      const dueAt = startedAt + sent++ * 1000 / RATE;
      await sleep(Math.max(0, dueAt - performance.now()));
      const now = performance.now();
      if (now > endsAt) return;
      const isOk = await fetch(origin, {
        method,
        ...(method === "POST" && { body: "question" }),
      }).then(async (response) => {
        await response.body?.cancel();
        return response.ok;
      });
      counts.requests++;
      if (isOk) continue;
      counts.failed++;
      if (now > startedAt + WARM_UP_MS + DETECTION_MS) {
        counts.failedOnceEjected++;
      }
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  await sleep(WARM_UP_MS);
  setFault(true);
  await Promise.all(clients);
  setFault(false);
  const share = 100 * counts.failedOnceEjected / counts.requests;
  return { ...counts, share: `${share.toFixed(3)} %` };
}

/** A thousand streams whose first backend limits requests, or breaks each stream before its first event. */
export async function failingOver(): Promise<Finding[]> {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
    "Connection: close\r\n\r\n";
  const firsts = {
    "429": "HTTP/1.1 429 Slow down\r\nRetry-After: 1\r\n" +
      "Content-Length: 0\r\n\r\n",
    "broken streams": head,
  };
  const findings: Finding[] = [];
  for (const [name, text] of Object.entries(firsts)) {
    using first = saying(text);
    using second = saying(`${head}data: one\n\ndata: two\n\n`);
    await using gateway = await GatewayProcess.start({
      config: {
        routes: [{
          backends: [first, second].map(({ addr }, priority) => ({
            host: `127.0.0.1:${addr.port}`,
            priority,
          })),
        }],
      },
    });
    let left = STREAMS;
    let whole = 0;
    let failedOver = 0;
    const client = async () => {
      while (left-- > 0) {
        const response = await fetch(gateway.origin, { method: "POST" });
        if (response.headers.has("x-gateway-failover")) failedOver++;
        const body = await response.text();
        if (body === "data: one\n\ndata: two\n\n") whole++;
      }
    };
    await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, client));
    findings.push({
      drill: `${STREAMS} streams, first backend: ${name}`,
      figures: { whole, failedOver },
    });
  }
  return findings;
}

/** A server that answers the first bytes of each connection with `text`, and closes it. */
function saying(text: string): Deno.TcpListener {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serve = async (connection: Deno.TcpConn) => {
    await connection.read(new Uint8Array(64 * 1024));
    await connection.write(new TextEncoder().encode(text));
    connection.close();
  };
  (async () => {
    for await (const connection of listener) void serve(connection);
  })();
  return listener;
}
