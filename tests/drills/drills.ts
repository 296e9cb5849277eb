/**
 * Attacks a gateway and prints what they cost: `make drills`, or `make drills ARGS="rapid-reset"` for one of them. The figures
 * depend on the machine; run nothing else on it.
 */
import { Buffer } from "node:buffer";
import {
  ERROR_CODES,
  FRAME_TYPES,
  SETTINGS,
} from "../../src/http/http2/frames/http2_protocol.ts";
import { writeAll } from "../../src/http/transport.ts";
import type { GatewayProcess } from "../harness/gateway/gateway_process.ts";
import {
  frame,
  GET,
  headers,
  Http2Client,
  settings,
  uint32,
} from "../harness/clients/http2_client.ts";
import { connectRaw } from "../harness/clients/raw_exchange.ts";
import { RawConnection } from "../harness/clients/raw_upstream.ts";
import {
  authority,
  endlessUpstream,
  type Finding,
  MIB,
  residentMib,
  sleep,
  startGateway,
  watchVictim,
} from "./drill.ts";

import { failingBackends, failingEndpoints } from "./endpoint_drills.ts";
import { failingOver, limitedProvider } from "./failover_drills.ts";
import { failingServer, programStarts } from "./mcp_drills.ts";
import { changedKeys, manyKeyLookUps } from "./key_drills.ts";
import { abandonedSessions, killedReplicas } from "./mcp_session_drills.ts";
import { starvedBackend } from "./share_drills.ts";
import { vaultSchedules } from "./vault_drills.ts";
import { uiCost, uiFrames, uiMemory, uiPages } from "./ui_drills.ts";
import { reloads, soak } from "./worker_drills.ts";

const LARGEST_WINDOW = 0x7fff_ffff;
const NEVER_READERS = 20;
const BURSTS = 200;
const BODIES = 100;
const CONNECTIONS = 10_500;

const drills: Readonly<Record<string, () => Promise<Finding[]>>> = {
  "never-reading": neverReading,
  "rapid-reset": rapidReset,
  "hostile-request": () =>
    hostileBodies(
      "8 MiB of hostile JSON to a rule, 10 per second",
      hostileJson(),
    ),
  "hostile-response": hostileResponses,
  connections: manyConnections,
  backends: failingBackends,
  endpoints: failingEndpoints,
  failover: failingOver,
  limited: limitedProvider,
  keys: changedKeys,
  "key-lookups": manyKeyLookUps,
  "mcp-programs": programStarts,
  "mcp-replicas": killedReplicas,
  "mcp-servers": failingServer,
  "mcp-sessions": abandonedSessions,
  reloads,
  vault: vaultSchedules,
  shares: starvedBackend,
  soak,
  "ui-cost": uiCost,
  "ui-frames": uiFrames,
  "ui-memory": uiMemory,
  "ui-pages": uiPages,
};

/** Clients that never read an endless response: the memory of the gateway has to stay level. */
async function neverReading(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const protocol of ["h1", "h1 TLS", "h2 TLS", "h2c"]) {
    const tls = protocol.endsWith("TLS");
    using upstream = endlessUpstream(new Uint8Array(256 * 1024));
    await using gateway = await startGateway(upstream.addr.port, { tls });
    const before = await residentMib(gateway);
    const close: (() => void)[] = [];
    for (let i = 0; i < NEVER_READERS; i++) {
      close.push(
        protocol.startsWith("h2")
          ? await stallHttp2(gateway, tls)
          : await stallHttp1(gateway, tls),
      );
    }
    const figures: Record<string, string> = { before: `${before} MiB` };
    for (const seconds of [2, 10]) {
      await sleep(seconds * 1000);
      figures[`${seconds} s later`] = `${await residentMib(gateway)} MiB`;
    }
    for (const each of close) each();
    findings.push({
      drill: `${NEVER_READERS} clients that never read, ${protocol}`,
      figures,
    });
  }
  return findings;
}

async function stallHttp1(
  { port }: GatewayProcess,
  tls: boolean,
): Promise<() => void> {
  const client = tls
    ? await Deno.connectTls({
      hostname: "localhost",
      port,
      caCerts: [authority.cert],
    })
    : await Deno.connect({ hostname: "127.0.0.1", port });
  await client.write(Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  return () => client.close();
}

async function stallHttp2(
  { port }: GatewayProcess,
  tls: boolean,
): Promise<() => void> {
  const client = await Http2Client.connect(
    port,
    tls ? authority.cert : undefined,
  );
  await client.send(
    settings([SETTINGS.initialWindowSize, LARGEST_WINDOW]),
    frame(FRAME_TYPES.windowUpdate, 0, 0, uint32(LARGEST_WINDOW - 65_535)),
    headers(1, GET),
  );
  return () => client.close();
}

/** CVE-2023-44487: requests that are reset in the same breath. */
async function rapidReset(): Promise<Finding[]> {
  using upstream = endlessUpstream(new Uint8Array(1024));
  await using gateway = await startGateway(upstream.addr.port);
  const burst = Array.from({ length: 1500 }, (_, i) => [
    headers(2 * i + 1, GET),
    frame(FRAME_TYPES.rstStream, 0, 2 * i + 1, uint32(ERROR_CODES.cancel)),
  ]).flat();
  const attack = (async () => {
    for (let i = 0; i < BURSTS; i++) {
      using client = await Http2Client.connect(gateway.port);
      const sending = client.send(...burst).catch(() => {});
      await client.verdict();
      await sending;
    }
  })();
  const figures = await watchVictim(() => connectRaw(gateway.port), attack);
  const after = `${await residentMib(gateway)} MiB`;
  return [{
    drill: `${BURSTS} bursts of 1500 requests that are reset at once`,
    figures: { ...figures, memory: after },
  }];
}

/** Half a million members with small values, which take longest to read. */
function hostileJson(): Uint8Array {
  const members = '"modelx":[1,{}],'.repeat(Math.floor(8 * MIB / 16) - 1);
  return Buffer.from(`{${members}"z":1}`);
}

async function hostileBodies(
  drill: string,
  body: Uint8Array,
): Promise<Finding[]> {
  using upstream = endlessUpstream(new Uint8Array(1024));
  await using gateway = await startGateway(upstream.addr.port);
  const head =
    `POST /rules/v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const attack = (async () => {
    const open: Promise<unknown>[] = [];
    for (let i = 0; i < BODIES; i++) {
      open.push(
        (async () => {
          using client = await Deno.connect({
            hostname: "127.0.0.1",
            port: gateway.port,
          });
          await writeAll(client, Buffer.from(head));
          await writeAll(client, body);
          await client.read(new Uint8Array(1024));
        })().catch(() => {}),
      );
      await sleep(100);
    }
    await Promise.all(open);
  })();
  const figures = await watchVictim(() => connectRaw(gateway.port), attack);
  const memory = `${await residentMib(gateway)} MiB`;
  return [{ drill, figures: { ...figures, memory } }];
}

/** A backend whose responses take long to search for token usage. */
async function hostileResponses(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (
    const [name, type, unit] of [
      ["empty documents", "application/json", "{}"],
      ["usage objects", "application/json", '{"usage":{"prompt_tokens":1}}'],
      ["events", "text/event-stream", 'data: {"usage":{"a":1}}\n\n'],
    ] as const
  ) {
    const body = Buffer.from(unit.repeat(8 * MIB / unit.length));
    using upstream = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const serving = (async () => {
      for await (const connection of upstream) {
        void (async () => {
          await connection.read(new Uint8Array(4096));
          const head =
            `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
          await writeAll(connection, Buffer.from(head));
          await writeAll(connection, body);
          connection.close();
        })().catch(() => {});
      }
    })();
    await using gateway = await startGateway(upstream.addr.port);
    const attack = (async () => {
      for (let i = 0; i < 10; i++) {
        const response = await fetch(
          `${gateway.origin}/tokens/v1/chat/completions`,
          { method: "POST", body: "{}" },
        );
        await response.arrayBuffer();
      }
    })();
    const figures = await watchVictim(() => connectRaw(gateway.port), attack);
    upstream.close();
    await serving.catch(() => {});
    findings.push({
      drill: `10 responses of 8 MiB of ${name}, tokens counted`,
      figures,
    });
  }
  return findings;
}

/** More connections than the port takes, all of one address; the victim has another. */
async function manyConnections(): Promise<Finding[]> {
  using upstream = endlessUpstream(new Uint8Array(1024));
  await using gateway = await startGateway(upstream.addr.port, {
    address: "localhost",
  });
  const open: Deno.Conn[] = [];
  const attack = (async () => {
    for (let i = 0; i < CONNECTIONS; i++) {
      open.push(
        await Deno.connect({ hostname: "127.0.0.1", port: gateway.port }),
      );
    }
    await sleep(1000);
  })();
  const figures = await watchVictim(
    async () =>
      new RawConnection(
        await Deno.connect({ hostname: "::1", port: gateway.port }),
      ),
    attack,
  );
  const memory = `${await residentMib(gateway)} MiB`;
  for (const each of open) each.close();
  return [{
    drill: `${CONNECTIONS} connections of one address`,
    figures: { ...figures, memory },
  }];
}

function print({ drill, figures, isKept = true }: Finding): void {
  const text = Object.entries(figures)
    .map(([name, value]) => `${name} ${value}`).join(", ");
  Deno.stdout.writeSync(
    new TextEncoder().encode(`${isKept ? "" : "FAILED "}${drill}: ${text}\n`),
  );
}

let hasFailed = false;
const chosen = Deno.args.length > 0 ? Deno.args : Object.keys(drills);
for (const name of chosen) {
  const drill = drills[name];
  if (drill === undefined) {
    throw new Error(`No drill "${name}": ${Object.keys(drills).join(", ")}`);
  }
  for (const finding of await drill()) {
    print(finding);
    hasFailed ||= finding.isKept === false;
  }
}
Deno.exit(hasFailed ? 1 : 0);
