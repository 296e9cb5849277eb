import { MemoryFiles } from "../../admin/target/linux_memory.ts";
import { AdminServers } from "../../admin/admin_servers.ts";
import type { AdminTarget } from "../../admin/target/target.ts";
import { preparePage } from "../../admin/ui/page_files.ts";
import { type Clock, tickingClock } from "../../src/base/clock.ts";
import type { ConfigurationSource } from "../../src/config/configuration_source.ts";
import type { AdminLogin } from "../../src/gateway/admin_login/admin_login.ts";
import { Gateway, type GatewayOptions } from "../../src/gateway/gateway.ts";
import { keepDebuggerClosed } from "../process/debugger_signal.ts";
import { exitCodes } from "../process/exit.ts";
import { listenForHangups } from "../process/hangup.ts";
import { LogOutput } from "../output/log_output.ts";
import { listenForShutdown, type Shutdown } from "../process/shutdown.ts";
import { onSignal } from "../process/signals.ts";
import { surviveErrors } from "../process/uncaught_errors.ts";
import { buildInfo } from "./print_version.ts";

export { AdminTokenError, ListenError } from "../../admin/admin_server.ts";

/** A running gateway with its admin addresses. */
export interface Serving {
  readonly gateway: Gateway;
  /** Addresses such as `http://127.0.0.1:15000`; empty when disabled. */
  readonly admin: readonly string[];
}

/** Options of `serve`. */
export interface ServeOptions {
  /** Effect of SIGHUP; the default, `ends`, is that of closing the terminal. */
  readonly hangup?: "ends" | "reloads" | "warns";
  readonly onStarted?: (serving: Serving) => Promise<void>;
  /** See `GatewayOptions.onApplied`. */
  readonly onApplied?: GatewayOptions["onApplied"];
  /** See `GatewayOptions.opensPorts`. */
  readonly opensPorts?: boolean;
}

/** A source of configuration, or a function that creates it with a function that writes log lines. */
type Source =
  | ConfigurationSource
  | ((writeLog: (line: string) => void) => ConfigurationSource);

/**
 * Runs a gateway with its admin and stats servers until a signal, `/quitquitquit`, or a worker that can be ended in no other
 * way; returns the exit code.
 * @throws {ConfigurationError | ConfigReadError | ListenError | AdminTokenError}
 */
export async function serve(
  source: Source,
  { hangup = "ends", onStarted, onApplied, opensPorts = true }: ServeOptions =
    {},
): Promise<number> {
  using memory = new MemoryFiles();
  preparePage();
  const clock = tickingClock();
  using shutdown = listenForShutdown((exitCode) => Deno.exit(exitCode));
  let ignore = (_signal: Deno.Signal) => {};
  using _debugger = keepDebuggerClosed(clock, () => ignore("SIGUSR1"));
  // SIGUSR2 would end the process otherwise.
  using _unused = onSignal("SIGUSR2", () => ignore("SIGUSR2"));
  using hangups = hangup === "ends" ? undefined : listenForHangups();
  await using output = new LogOutput(clock);
  // Opened before the first request is accepted and closed after the last one, as they report draining.
  await using servers = new AdminServers();
  await using logins = new AsyncDisposableStack();
  const writeLog = (line: string) => output.writeLog(line);
  const starting = Gateway.start({
    config: typeof source === "function" ? source(writeLog) : source,
    ...(onApplied !== undefined && { onApplied }),
    opensPorts,
    onLoaded: keepFromPrograms,
    clock,
    environment: Deno.env.toObject(),
    writeLog,
    writeAccessLog: (line) => output.writeAccess(line),
    workers: {
      entry: workerProgram(),
      writeLog: (lines) => output.writeLogBatch(lines),
      writeAccessLog: (lines) => output.writeAccessBatch(lines),
      onLost: () => shutdown.request(exitCodes.failure),
    },
    webUi: (request, access) => servers.webUi(request, access),
    beforeListening: async (gateway) => {
      const login = await openLogin(gateway, clock);
      if (login !== undefined) logins.defer(() => login.close());
      await servers.start({
        target: adminTarget({ gateway, shutdown, output, memory, login }),
        clock,
        log: gateway.log("admin"),
      });
    },
  });
  // Starting may block forever, for example on standard input; before it has started, there is nothing to drain.
  const gateway = await Promise.race([starting, shutdown.requested]);
  if (typeof gateway === "number") return gateway;
  output.reportLossesTo(gateway);
  surviveErrors(gateway.log("process"));
  ignore = (signal) => gateway.log("process").info("Ignored", { signal });
  hangups?.follow(() => onHangup(gateway, hangup));
  return await serveUntilShutdown(gateway, servers, shutdown, onStarted);
}

/** Opens the login of users at the admin interface, with its code; most gateways have none. */
async function openLogin(
  { settings, logger }: Gateway,
  clock: Clock,
): Promise<AdminLogin | undefined> {
  if (settings.adminLogin === undefined) return undefined;
  const { createAdminLogin } = await import(
    "../../src/gateway/admin_login/admin_login.ts"
  );
  return await createAdminLogin(settings.adminLogin, {
    settings,
    clock,
    logger,
  });
}

/** Requests must never be able to start programs, unless servers of the operator are programs. */
function keepFromPrograms({ programs }: { readonly programs: boolean }): void {
  if (!programs) Deno.permissions.revokeSync({ name: "run" });
}

/** Returns the program of workers: `worker.ts`, or `worker.js` beside the program of the executable. */
function workerProgram(): URL {
  const isSource = import.meta.url.endsWith("/cli/run/serve.ts");
  return new URL(isSource ? "../../worker.ts" : "worker.js", import.meta.url);
}

async function serveUntilShutdown(
  gateway: Gateway,
  servers: AdminServers,
  shutdown: Shutdown,
  onStarted: ServeOptions["onStarted"],
): Promise<number> {
  try {
    gateway.log("admin").info("Listening", {
      admin: servers.admin.join(" ") || "off",
      stats: servers.stats.join(" ") || "off",
    });
    await onStarted?.({ gateway, admin: servers.admin });
    const exitCode = await shutdown.requested;
    // Probes and scrapers belong to the process that takes over.
    if (gateway.settings.reusePort) await servers[Symbol.asyncDispose]();
    return exitCode;
  } finally {
    await gateway.stop();
  }
}

function onHangup(gateway: Gateway, hangup: ServeOptions["hangup"]): void {
  const log = gateway.log("process");
  const signal = "SIGHUP";
  if (hangup === "reloads") {
    log.info("Reloading", { signal });
    void gateway.reload().then(() => gateway.dataPlane.call("refreshKeys"));
  } else {
    log.warn("Cannot reload: standard input can be read once", { signal });
    void gateway.dataPlane.call("refreshKeys");
  }
}

function adminTarget(
  { gateway, shutdown, output, memory, login }: {
    readonly gateway: Gateway;
    readonly shutdown: Shutdown;
    readonly output: LogOutput;
    readonly memory: MemoryFiles;
    readonly login: AdminLogin | undefined;
  },
): AdminTarget {
  return {
    dataPlane: gateway.dataPlane,
    settings: gateway.settings,
    shownSettings: gateway.shownSettings,
    version: buildInfo(),
    systemMemory: () => memory.read(),
    stores: () => output.stores(),
    status: () => gateway.status(),
    logFilter: () => gateway.logFilter(),
    setLogFilter: (filter) => gateway.dataPlane.call("setLogLevel", filter),
    editor: gateway.editor,
    trials: gateway.trials,
    countRejection: (reason) =>
      gateway.metrics.adminRejections.labels(reason).inc(),
    ...(login !== undefined && { login }),
    shutdown: () => shutdown.request(),
    readiness: () => gateway.readiness(),
    problem: () => gateway.problem(),
  };
}
