import type { Settings } from "../api/settings.ts";
import type { Clock } from "../base/clock.ts";
import type { Log, Logger } from "../base/log/log.ts";
import { parseDuration } from "../api/schema/duration.ts";
import type { EgressPolicy } from "../base/wire/egress_policy.ts";
import type { CountedOutputs } from "../llm/batch/counted_outputs.ts";
import type { StoredResponses } from "../llm/responses/stored_responses.ts";
import type { PriceBook } from "../llm/cost/price_book.ts";
import type { BodyMemory } from "../http/body_memory.ts";
import type { BackendTokens } from "../identity/backend_tokens/backend_tokens.ts";
import type { ConnectionSite } from "../identity/connections/connection_site.ts";
import type { ClientRegister } from "../http/server/contract/client_counts.ts";
import type { EndedRequest } from "../policy/expressions/telemetry_expressions.ts";
import { observeFinishedRequests, usedPart } from "../proxy/finish.ts";
import type { UnsettledCounts } from "../proxy/metering/meter/unsettled_counts.ts";
import type { Cooldowns } from "../proxy/failover/cooldowns.ts";
import { Failover } from "../proxy/failover/failover.ts";
import { Forwarder } from "../proxy/forwarder.ts";
import { Listeners } from "../proxy/ports/listeners.ts";
import type { McpEndpoints } from "../proxy/mcp/mcp_endpoints.ts";
import { RemoteMedia } from "../proxy/llm/remote_media.ts";
import { Mirrors } from "../proxy/mirrors.ts";
import { Pipeline } from "../proxy/pipeline.ts";
import { createPortLog, type PortObserver } from "../proxy/ports/port_log.ts";
import { ServerWatch } from "../proxy/ports/server_watch.ts";
import { GatewayPages } from "../proxy/request/gateway_pages.ts";
import { trustedProxies } from "../proxy/request/forwarding_headers.ts";
import type { Upstreams } from "../proxy/upstreams.ts";
import type { PortId, Snapshot, SnapshotStore } from "../snapshot/snapshot.ts";
import type { FinishedRequest } from "../telemetry/log/finished_request.ts";
import type { TrafficMetrics } from "../telemetry/metrics/gateway_metrics.ts";
import type { TrafficRecorder } from "../telemetry/traffic/traffic_recorder.ts";
import type { RequestTelemetry } from "./telemetry/request_telemetry.ts";
import type { Debugging } from "./calls/debugging.ts";

/** Dependencies of the request path. */
export interface RequestPathOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: TrafficMetrics;
  readonly telemetry: RequestTelemetry;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly snapshots: SnapshotStore;
  readonly prices: PriceBook;
  readonly upstreams: Upstreams;
  readonly mcp: McpEndpoints;
  readonly tokens: BackendTokens;
  /** Pages on which users connect accounts. */
  readonly connections?: ConnectionSite | undefined;
  readonly cooldowns: Cooldowns;
  readonly debugging: Debugging;
  readonly traffic: TrafficRecorder;
  readonly bodyMemory: BodyMemory;
  readonly egress: EgressPolicy;
  readonly counted: CountedOutputs;
  readonly responses: StoredResponses;
  readonly unsettled: UnsettledCounts;
  /** Returns where the connections of a port are counted, of several data planes too; by default, by its server. */
  readonly clientsOf?: ((port: PortId) => ClientRegister) | undefined;
  /** Default: logs. */
  readonly portObserver?: PortObserver | undefined;
}

/** Creates the listeners, still without ports, and connects them with everything that handles and records requests. */
export function createListeners(options: RequestPathOptions): Listeners {
  const { clock, logger, settings, debugging, traffic, telemetry } = options;
  const record = recorder(options);
  const log = logger.module("proxy");
  const trustsPeer = trustedProxies(settings.trustedProxies);
  const { connections } = options;
  const pipeline = new Pipeline({
    snapshots: options.snapshots,
    forwarder: createForwarder(options),
    failover: createFailover(options),
    clock,
    prices: options.prices,
    bodyMemory: options.bodyMemory,
    counted: options.counted,
    pages: connections && new GatewayPages(connections, trustsPeer),
    trustsPeer,
    maxBodyBytes: settings.limits.maxBodyBytes,
    maxBufferBytes: settings.limits.maxBufferBytes,
    maxLlmBodyBytes: settings.limits.maxLlmBodyBytes,
    log,
    tracing: debugging.tracing,
    spans: telemetry.spans,
    onUsed: (exchange, usage) =>
      traffic.recordPart(usedPart(exchange, clock.now(), usage)),
    onFinish: observeFinishedRequests(clock, (request, exchange) => {
      record(request, exchange);
      telemetry.spans?.finished(request, exchange);
      // The page would count its own requests.
      if (exchange.routed.backend?.webUi === undefined) traffic.record(request);
      debugging.memory.finished(request, exchange);
    }, options.unsettled),
  });
  const observe = (port: PortId) => watchPort(port, options);
  return new Listeners({
    pipeline,
    clock,
    log,
    observe,
    limits: settings.limits,
    portObserver: options.portObserver ?? createPortLog(log),
    reusePort: settings.reusePort,
    clientsOf: options.clientsOf,
  });
}

function createForwarder(
  {
    upstreams,
    mcp,
    tokens,
    clock,
    counted,
    random,
    logger,
    metrics,
    prices,
    settings,
    traffic,
    responses,
    egress,
  }: RequestPathOptions,
): Forwarder {
  const log = logger.module("proxy");
  const { maxBufferBytes, maxLlmBodyBytes } = settings.limits;
  const { fetch: isEnabled, timeout, ...bounds } = settings.remoteMedia;
  const media = new RemoteMedia({
    ...{ clock, egress, isEnabled, ...bounds },
    maxTotalBytes: maxLlmBodyBytes,
    timeoutMs: parseDuration(timeout),
  });
  const mirrors = new Mirrors({
    upstreams,
    tokens,
    clock,
    random,
    onFailure: (backend, error) => {
      metrics.mirrorFailures.labels(backend.name).inc();
      log.debug("Cannot mirror a request", { backend: backend.key, error });
    },
    llm: { prices, clock, counted, media, maxBufferBytes: maxLlmBodyBytes },
    onAnswer: (route, answer) => {
      metrics.recordMirror({ route, ...answer });
      traffic.recordCopy({ time: clock.now(), route, ...answer });
    },
  });
  return new Forwarder({
    upstreams,
    mirrors,
    mcp,
    tokens,
    clock,
    log,
    responses,
    media,
    maxBufferBytes,
    maxLlmBodyBytes,
  });
}

function createFailover(
  {
    clock,
    cooldowns,
    random,
    logger,
    metrics,
    prices,
    settings,
    traffic,
  }: RequestPathOptions,
): Failover {
  return new Failover({
    cooldowns,
    clock,
    log: logger.module("proxy"),
    random,
    maxBufferBytes: settings.limits.maxLlmBodyBytes,
    prices,
    onFailover: (backend, reason) =>
      metrics.failovers.labels(backend, reason).inc(),
    onHedge: (backend) => metrics.hedges.labels(backend).inc(),
    onDiscarded: (exchange, usage) => {
      const part = usedPart(exchange, clock.now(), usage);
      metrics.recordUse({ route: part.route, backend: part.backend, usage });
      traffic.recordPart(part);
    },
  });
}

function watchPort(
  { key, port }: PortId,
  options: RequestPathOptions,
): ServerWatch {
  const { snapshots, clock, logger, metrics, debugging, traffic } = options;
  const record = recorder(options);
  return new ServerWatch({
    port,
    gateway: () => gatewayOf(snapshots.current, key),
    clock,
    log: logger.module("http"),
    metrics,
    record: (request) => {
      record(request);
      traffic.record(request);
      debugging.memory.rejected(request);
    },
  });
}

function recorder({ telemetry, metrics, logger }: RequestPathOptions) {
  const warn = warnOfUncounted(logger.module("ratelimit"));
  return (request: FinishedRequest, ended?: EndedRequest): void => {
    telemetry.accessLog(request, ended);
    metrics.recordRequest(request);
    if (request.uncounted !== undefined) warn(request);
  };
}

/** Models come from requests. */
const MAX_WARNINGS = 1000;

/** Warns once per route and model of responses whose tokens could not be counted. */
function warnOfUncounted(log: Log): (request: FinishedRequest) => void {
  const warned = new Set<string>();
  return ({ route = "", uncounted, path }) => {
    const model = uncounted?.model ?? "";
    const key = `${route} ${model}`;
    if (warned.has(key) || warned.size === MAX_WARNINGS) return;
    warned.add(key);
    log.warn(
      "A response on a route with a budget of tokens has no usage and is not charged; unknownUsage: Deny rejects such requests",
      { route, model, path },
    );
  };
}

/** Returns the gateway that owns a port, unless several share it. */
function gatewayOf({ ports }: Snapshot, key: string): string | undefined {
  const listeners = ports.find((port) => port.key === key)?.listeners ?? [];
  const [name, ...others] = new Set(listeners.map(({ gateway }) => gateway));
  return others.length === 0 ? name : undefined;
}
