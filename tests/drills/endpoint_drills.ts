/** Endpoints that fail under load. */
import { GatewayProcess } from "../harness/gateway/gateway_process.ts";
import { type Finding, sleep } from "./drill.ts";

const CLIENTS = 100;
/** Requests per second of all clients; `RATE=150` suits a busy machine. */
const RATE = Number(Deno.env.get("RATE") ?? 500);
const WARM_UP_MS = 2000;
/** `FAULT_SECONDS=8` makes the drills shorter. */
const FAULT_MS = 1000 * Number(Deno.env.get("FAULT_SECONDS") ?? 30);
/** Share of the fault in which endpoints may still be found out. */
const DETECTION_MS = 3000;

type Fault = "none" | "refused" | "hung" | "reset" | "slow" | "503" | "429";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const limited = "HTTP/1.1 429 Limited\r\nRetry-After: 5\r\n" +
  "Content-Length: 4\r\n\r\nslow";
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
        case "429":
          await write(limited);
          break;
        default:
          await write(ok);
      }
    }
  }
}

/** Settings under which each fault is tried. */
const variants: readonly {
  readonly name: string;
  readonly method: string;
  readonly route?: Readonly<Record<string, unknown>>;
  readonly backend?: Readonly<Record<string, unknown>>;
}[] = [
  { name: "GET", method: "GET" },
  { name: "POST", method: "POST" },
  {
    name: "GET with retry",
    method: "GET",
    route: { retry: { attempts: 1, codes: [503] } },
  },
  {
    name: "POST with checks",
    method: "POST",
    backend: {
      healthCheck: {
        path: "/",
        interval: "1s",
        timeout: "500ms",
        unhealthyThreshold: 2,
      },
    },
  },
];

/** Each fault for half a minute at one of three endpoints, under load. */
export async function failingEndpoints(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, method, route, backend } of variants) {
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
            ...route,
          }],
          backends: [{ name: "fleet", endpoints, ...backend }],
        },
      });
      const figures = await runLoad(gateway.origin, method, (isFaulty) => {
        const [first] = servers;
        if (first !== undefined) first.fault = isFaulty ? fault : "none";
      });
      for (const server of servers) server.close();
      findings.push({
        drill: `one of three endpoints ${fault}, ${name}`,
        figures,
      });
    }
  }
  return findings;
}

/** Ways to write several backends, by port. */
const ways: Readonly<Record<string, (ports: readonly number[]) => object>> = {
  list: (ports) => listOf(ports, () => ({})),
  weights: (ports) =>
    listOf(ports, (index) => ({ weight: [2, 3, 1][index] ?? 1 })),
  priorities: (ports) => listOf(ports, () => ({ priority: 0 })),
  endpoints: (ports) => ({
    routes: [{ backends: [{ backend: "fleet" }] }],
    backends: [{
      name: "fleet",
      endpoints: ports.map((port) => ({ host: "127.0.0.1", port })),
    }],
  }),
  llm: (ports) =>
    listOf(ports, () => ({}), (port) => ({
      llm: {
        provider: "OpenAI",
        host: `127.0.0.1:${port}`,
        plainText: true,
      },
    })),
};

function listOf(
  ports: readonly number[],
  more: (index: number) => object,
  backendOf = (port: number): object => ({
    static: { host: "127.0.0.1", port },
  }),
) {
  return {
    routes: [{
      backends: ports.map((_, index) => ({
        backend: `b${index}`,
        ...more(index),
      })),
    }],
    backends: ports.map((port, index) => ({
      name: `b${index}`,
      ...backendOf(port),
    })),
  };
}

/** Each fault at one of three backends without any settings, in all ways to write several backends; clients leave after five seconds. */
export async function failingBackends(): Promise<Finding[]> {
  const findings: Finding[] = [];
  // `FAULTS=hung` tries one of them.
  const faults = (Deno.env.get("FAULTS") ?? "refused reset 503 429 hung")
    .split(" ").filter(isFault);
  for (const [way, configure] of Object.entries(ways)) {
    for (const method of way === "llm" ? ["POST"] : ["GET", "POST"]) {
      for (const fault of faults) {
        const servers = [0, 1, 2].map(() => new FaultyServer());
        await using gateway = await GatewayProcess.start({
          config: { ...configure(servers.map(({ port }) => port)) },
        });
        const figures = await runLoad(
          `${gateway.origin}/v1/chat/completions`,
          method,
          (isFaulty) => {
            const [first] = servers;
            if (first !== undefined) first.fault = isFaulty ? fault : "none";
          },
          { rate: 100, detectionMs: 1000 },
        );
        for (const server of servers) server.close();
        findings.push({
          drill: `${way}: one of three ${fault}, ${method}`,
          figures,
        });
      }
    }
  }
  return findings;
}

function isFault(text: string): text is Fault {
  return ["refused", "reset", "503", "429", "hung"].includes(text);
}

const LEAVES_MS = 5000;

async function runLoad(
  origin: string,
  method: string,
  setFault: (isFaulty: boolean) => void,
  { rate = RATE, detectionMs = DETECTION_MS } = {},
): Promise<Finding["figures"]> {
  const counts = { requests: 0, failed: 0, failedOnceEjected: 0 };
  const startedAt = performance.now();
  const endsAt = startedAt + WARM_UP_MS + FAULT_MS;
  let sent = 0;
  const client = async () => {
    for (;;) {
      const dueAt = startedAt + sent++ * 1000 / rate;
      await sleep(Math.max(0, dueAt - performance.now()));
      const now = performance.now();
      if (now > endsAt) return;
      const isOk = await fetch(origin, {
        method,
        signal: AbortSignal.timeout(LEAVES_MS),
        ...(method === "POST" && {
          body: '{"model":"m","messages":[]}',
          headers: { "content-type": "application/json" },
        }),
      }).then(async (response) => {
        await response.body?.cancel();
        return response.ok;
      }, () => false);
      counts.requests++;
      if (isOk) continue;
      counts.failed++;
      if (now > startedAt + WARM_UP_MS + detectionMs) {
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
