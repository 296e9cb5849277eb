import { MemoryFiles } from "../admin/linux_memory.ts";
import { SideServers } from "../admin/side_servers.ts";
import type { AdminTarget } from "../admin/target.ts";
import { systemClock } from "../src/base/clock.ts";
import type { Log } from "../src/base/log.ts";
import type { ConfigurationSource } from "../src/config/configuration_source.ts";
import { Gateway } from "../src/gateway.ts";
import { LineWriter } from "../src/telemetry/line_writer.ts";
import { keepDebuggerShut } from "./debugger_signal.ts";
import { exitCodes } from "./exit.ts";
import { listenForHangups } from "./hangup.ts";
import { listenForShutdown, type Shutdown } from "./shutdown.ts";
import { buildFacts } from "./version.ts";

export { AdminTokenError, ListenError } from "../admin/server.ts";

/** A gateway that serves, with what was bound for it. */
export interface Serving {
  readonly gateway: Gateway;
  /** Such as `http://127.0.0.1:15000`; empty when it is off. */
  readonly admin: readonly string[];
}

/** How a gateway is served. */
export interface ServeOptions {
  /** What SIGHUP does: the default, `ends`, ends the process as closing its terminal should. */
  readonly hangup?: "ends" | "reloads" | "is refused";
  readonly onStarted?: (serving: Serving) => Promise<void>;
}

const flushTimeoutMs = 1000;

/**
 * Runs a gateway with its admin and stats servers until a signal or `/quitquitquit`; answers the exit code.
 * @throws {ConfigurationError | ConfigReadError | ListenError | AdminTokenError}
 */
export async function serve(
  config: ConfigurationSource,
  { hangup = "ends", onStarted }: ServeOptions = {},
): Promise<number> {
  using memory = new MemoryFiles();
  // Whatever a request might bring about, it starts no program.
  Deno.permissions.revokeSync({ name: "run" });
  const clock = systemClock;
  const logLines = new LineWriter({
    write: (bytes) => Deno.stderr.write(bytes),
    clock,
    maxDelayMs: 0,
  });
  const accessLines = new LineWriter({
    write: (bytes) => Deno.stdout.write(bytes),
    clock,
    maxDelayMs: 100,
  });
  const writers = { log: logLines, access: accessLines };
  using shutdown = listenForShutdown((exitCode) => Deno.exit(exitCode));
  let ignore = () => {};
  using _debugger = keepDebuggerShut(clock, () => ignore());
  using hangups = hangup === "ends" ? undefined : listenForHangups();
  try {
    // Bound before the first request is accepted, closed after the last one is done: they say that we are draining.
    await using servers = new SideServers();
    const starting = Gateway.start({
      config,
      environment: Deno.env.toObject(),
      writeLog: (line) => logLines.write(line),
      writeAccessLog: (line) => accessLines.write(line),
      webUi: (request, access) => servers.webUi(request, access),
      beforeListening: (gateway) =>
        servers.start({
          target: adminTarget({ gateway, shutdown, writers, memory }),
          clock,
          log: gateway.log("admin"),
        }),
    });
    // Reading standard input, for one, may take for ever, and what has not started needs no draining.
    const gateway = await Promise.race([starting, shutdown.requested]);
    if (gateway === undefined) return exitCodes.ok;
    countDroppedLines(gateway, writers);
    // Of the log itself there is nobody left to tell.
    accessLines.onLoss((error) =>
      gateway.log("process").warn("Access log is losing lines", { error })
    );
    surviveErrors(gateway.log("process"));
    ignore = () =>
      gateway.log("process").info("Ignored", { signal: "SIGUSR1" });
    hangups?.follow(() => reload(gateway, hangup === "reloads"));
    await serveUntilShutdown(gateway, servers, shutdown, onStarted);
    return exitCodes.ok;
  } finally {
    await flush(Object.values(writers));
  }
}

async function serveUntilShutdown(
  gateway: Gateway,
  { admin, stats }: SideServers,
  shutdown: Shutdown,
  onStarted: ServeOptions["onStarted"],
): Promise<void> {
  try {
    gateway.log("admin").info("Listening", {
      admin: admin.join(" ") || "off",
      stats: stats.join(" ") || "off",
    });
    await onStarted?.({ gateway, admin });
    await shutdown.requested;
  } finally {
    await gateway.stop();
  }
}

/** What SIGHUP asks for. */
function reload(gateway: Gateway, isPossible: boolean): void {
  const log = gateway.log("process");
  if (isPossible) {
    log.info("Reloading", { signal: "SIGHUP" });
    void gateway.reload();
  } else {
    log.warn("Cannot reload: standard input can be read once", {
      signal: "SIGHUP",
    });
  }
}

function adminTarget(
  { gateway, shutdown, writers, memory }: {
    readonly gateway: Gateway;
    readonly shutdown: Shutdown;
    readonly writers: Readonly<Record<string, LineWriter>>;
    readonly memory: MemoryFiles;
  },
): AdminTarget {
  return {
    dataPlane: gateway.dataPlane,
    settings: gateway.settings,
    version: buildFacts(),
    systemMemory: () => memory.read(),
    stores: () => waitingLines(writers),
    status: () => gateway.status(),
    logFilter: () => gateway.logFilter(),
    setLogFilter: (filter) => gateway.dataPlane.setLogLevel(filter),
    shutdown: () => shutdown.request(),
    readiness: () => gateway.readiness(),
  };
}

/** Gives a reader that has stopped reading a moment, not the power to keep the process alive. */
function flush(writers: readonly LineWriter[]): Promise<void> {
  return new Promise((resolve) => {
    const cancelTimer = systemClock.setTimer(resolve, flushTimeoutMs);
    Promise.all(writers.map((writer) => writer.flush())).finally(() => {
      cancelTimer();
      resolve();
    });
  });
}

/** Lines that nobody has read yet. */
function waitingLines(writers: Readonly<Record<string, LineWriter>>) {
  return Object.entries(writers).map(([scope, { waiting }]) => ({
    name: "logLines",
    scope,
    unit: "characters",
    ...waiting,
  }));
}

function countDroppedLines(
  gateway: Gateway,
  writers: Readonly<Record<string, LineWriter>>,
): void {
  gateway.metrics.registry.computed(
    "counter",
    "gateway_log_lines_dropped_total",
    "Lines of the log that were lost because nobody read them fast enough",
    ["log"],
    () =>
      Object.entries(writers).map(([name, { droppedLines }]) => ({
        labels: [name],
        value: droppedLines,
      })),
  );
}

/** A mistake of ours in one request must not end all the others. */
function surviveErrors(log: Log): void {
  addEventListener("error", (event) => {
    event.preventDefault();
    log.error("Uncaught error", {
      error: event.error,
      stack: stackOf(event.error),
    });
  });
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", {
      error: event.reason,
      stack: stackOf(event.reason),
    });
  });
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
