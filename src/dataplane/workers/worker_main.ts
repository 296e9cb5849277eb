import { parentPort, workerData } from "node:worker_threads";
import { tickingClock } from "../../base/clock.ts";
import { createLogger, type Log } from "../../base/log/log.ts";
import { parseLogFilter } from "../../base/log/log_filter.ts";
import { createCountedOutputs } from "../state/stores/kv_stores.ts";
import { BodyMemory } from "../../http/body_memory.ts";
import { WorkerRelay } from "../../proxy/mcp/worker_relay.ts";
import { PortRecord } from "../../proxy/ports/port_log.ts";
import { builtInPolicies } from "../../policy/registry.ts";
import { createTrafficMetrics } from "../../telemetry/metrics/gateway_metrics.ts";
import { SharedConnections } from "../state/shared_connections.ts";
import { createWorkerState } from "../state/worker_state.ts";
import { LocalDataPlane } from "../local_data_plane.ts";
import { loadRequestTelemetry } from "../telemetry/request_telemetry.ts";
import { Channel } from "../state/channel.ts";
import { decodeShared } from "../state/decode_message.ts";
import { startHeartbeat } from "./heartbeat.ts";
import type { ControlCalls, WorkerCalls, WorkerStart } from "./protocol.ts";
import { createRemoteWebUi } from "./web_ui_relay.ts";
import { createWorkerHandlers } from "./worker_handlers.ts";
import { WorkerLogs } from "./worker_logs.ts";
import { ThreadProfiles } from "../calls/thread_profiles.ts";
import { WorkerTraces } from "./worker_traces.ts";

/** Runs a data plane in this thread, as the control thread asks. */
export async function runWorker(): Promise<void> {
  if (parentPort === null) {
    throw new TypeError("Cannot run a worker in the main thread");
  }
  const start = decodeShared<WorkerStart>(workerData);
  const { worker, settings, logFilter, shared, thread } = start;
  const clock = tickingClock();
  startHeartbeat(shared.heartbeats, worker, clock);
  const createTelemetry = await loadRequestTelemetry(settings);
  const control = new Channel<ControlCalls, WorkerCalls>(parentPort);
  const logs = new WorkerLogs(control, clock);
  const logger = createLogger({
    write: (line) => logs.log.write(line),
    clock,
    format: settings.logging.format,
    filter: parseLogFilter(logFilter),
  });
  surviveErrors(logger.module("process"));
  const base = { settings, clock, logger };
  const metrics = createTrafficMetrics();
  logs.countLosses(metrics.registry);
  const ports = new PortRecord();
  const owner = { thread, worker };
  const connections = new SharedConnections(shared.connections, owner);
  const refusals = new Int32Array(shared.refusals);
  const dataPlane = new LocalDataPlane({
    ...base,
    policies: builtInPolicies,
    metrics,
    telemetry: createTelemetry({
      clock,
      logger,
      registry: metrics.registry,
      random: Math.random,
      writeAccessLog: (line) => logs.access.write(line),
    }),
    random: Math.random,
    portObserver: ports,
    ...(start.hasWebUi && { webUi: createRemoteWebUi(control) }),
    shared: createWorkerState(control, thread, base),
    workers: shared.workers,
    clientsOf: ({ key }) => connections.ofPort(key),
    bodyMemory: new BodyMemory(shared.bodyMemory, worker),
    counted: createCountedOutputs(base, shared.countedOutputs),
    sessionSecret: shared.sessionSecret,
    mcpRelay: new WorkerRelay(shared.sessionSecret, worker, {
      clock,
      log: logger.module("mcp"),
    }),
    thread,
    profiles: new ThreadProfiles(worker, clock),
    onTraffic: (news) => control.notify("addTraffic", news),
    nextRefusal: () => Atomics.add(refusals, 0, 1) + 1,
  });
  const turns = shared.traceTurns;
  const traces = new WorkerTraces({ dataPlane, control, worker, turns });
  control.serve(createWorkerHandlers({ dataPlane, logs, ports, traces }));
  control.notify("ready");
}

/** Logs uncaught errors: a bug in one request must not end all others. */
function surviveErrors(log: Log): void {
  addEventListener("error", (event) => {
    event.preventDefault();
    log.error("Uncaught error", { error: event.error });
  });
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", { error: event.reason });
  });
}
