import { textSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { AdminServers } from "../../../admin/admin_servers.ts";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import type { TraceQuery } from "../../../src/dataplane/calls/debugging.ts";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import type { TraceStream } from "../../../src/telemetry/trace/trace_watchers.ts";
import { freePort } from "../process/free_port.ts";

/** A gateway in this process that is looked into while it works. */
export interface TracedGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly port: number;
  /** For instance `http://127.0.0.1:40123`. */
  readonly origin: string;
  /** Of the admin interface, such as `http://127.0.0.1:40124`. */
  readonly admin: string;
  /** All log lines so far. */
  readonly log: readonly string[];
  /** The access log so far. */
  readonly accessLog: readonly string[];
  /** Waits for requests; call it before they are sent. */
  watch(query?: TraceQuery): Promise<TraceStream>;
}

/** Starts a gateway with one listener and an admin interface, both on free ports. */
export async function startTracedGateway(
  { config = {}, ...rest }: Readonly<Record<string, unknown>>,
  { clock = systemClock, resources = [], workerEntry }: {
    readonly clock?: Clock;
    readonly resources?: readonly unknown[];
    /** Program of each worker, if `config.workers` is more than one. */
    readonly workerEntry?: URL;
  } = {},
): Promise<TracedGateway> {
  const port = freePort();
  const log: string[] = [];
  const accessLog: string[] = [];
  const document = {
    config: {
      adminAddr: "127.0.0.1:0",
      statsAddr: "off",
      logging: { level: "trace" },
      ...Object(config),
    },
    gateways: { default: { port, address: "127.0.0.1" } },
    ...rest,
  };
  const text = [document, ...resources].map((each) => JSON.stringify(each))
    .join("\n---\n");
  const servers = new AdminServers();
  const gateway = await Gateway.start({
    config: textSource(text),
    writeLog: (line) => log.push(line),
    writeAccessLog: (line) => accessLog.push(line),
    clock,
    ...(workerEntry && {
      workers: {
        entry: workerEntry,
        writeLog: (lines) => Promise.resolve(void log.push(lines)),
        writeAccessLog: (lines) => Promise.resolve(void accessLog.push(lines)),
        onLost: () => {},
      },
    }),
    webUi: (request, access) => servers.webUi(request, access),
    beforeListening(gateway) {
      const target = {
        dataPlane: gateway.dataPlane,
        settings: gateway.settings,
        shownSettings: gateway.shownSettings,
        countRejection: () => {},
        version: {},
        stores: () => [],
        systemMemory: () => ({ smaps: null, cgroup: null }),
        status: () => gateway.status(),
        logFilter: () => gateway.logFilter(),
        setLogFilter: (filter: string) =>
          gateway.dataPlane.call("setLogLevel", filter),
        editor: gateway.editor,
        shutdown: () => {},
        readiness: () => gateway.readiness(),
        problem: () => gateway.problem(),
      };
      return servers.start({ target, clock, log: gateway.log("admin") });
    },
  });
  return {
    gateway,
    port,
    origin: `http://127.0.0.1:${port}`,
    admin: servers.admin[0] ?? "",
    log,
    accessLog,
    async watch(query = {}) {
      const answer = await gateway.dataPlane.traceNext(query);
      if ("stream" in answer) return answer.stream;
      throw new Error(answer.message);
    },
    async [Symbol.asyncDispose]() {
      await gateway.stop(0);
      await servers[Symbol.asyncDispose]();
    },
  };
}

/** All events of a stream, to its end. */
export async function eventsOf(
  stream: AsyncIterable<TraceEvent>,
): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}
