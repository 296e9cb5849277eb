import {
  type ConfigurationSource,
  textSource,
} from "../config/configuration_source.ts";
import type { ConfigText } from "../config/diagnostics/located_diagnostic.ts";
import type { WatchOptions } from "../config/watch.ts";
import type { Environment } from "../config/yaml/substitute.ts";
import type { DataPlane } from "../dataplane/data_plane.ts";
import type { PortAddress } from "../dataplane/calls/descriptions.ts";
import type { TraceQuery } from "../dataplane/calls/debugging.ts";
import {
  type CandidateOptions,
  checkCandidate,
  ConfigurationError,
  loadCandidate,
} from "./candidate/candidate.ts";
import { Gateway } from "./gateway.ts";
import { type LibraryPolicy, registryWith } from "./library/library_policy.ts";
import type {
  GatewayStatus,
  Readiness,
  RejectedConfiguration,
} from "./gateway_status.ts";

/**
 * A configuration: YAML or JSON, the same as an object (`{ gateways, routes, … }`), or a list of Gateway API resources
 * (`[{ kind: "Gateway", … }, { kind: "HTTPRoute", … }]`).
 */
export type Configuration = string | object | readonly object[];

/** Options of `startGateway`. */
export interface StartOptions {
  /** Configuration, or a source such as `fileSource("gateway.yaml")`, which the gateway follows. */
  readonly config: Configuration | ConfigurationSource;
  /** Variables for `${NAME}` in the configuration; none by default. `Deno.env.toObject()` passes those of the process. */
  readonly environment?: Environment;
  /** Kinds of policies besides the built-in ones, from `createPolicy`. */
  readonly policies?: readonly LibraryPolicy[];
  /** Receives each log line, including its line break. */
  readonly writeLog?: (line: string) => void;
  /** Receives one line per request, including its line break. */
  readonly writeAccessLog?: (line: string) => void;
}

/** A step that a request went through. `docs/diagnostics.md` describes traces. */
export interface TraceRecord {
  /** Microseconds since the gateway accepted the request; `null` for a step without a duration. */
  readonly eventStart: number | null;
  /** Microseconds since the gateway accepted the request. */
  readonly eventEnd: number;
  /** Such as `info`, `warn` or `error`. */
  readonly severity: string;
  /** Contents of the step: `{ type: "routeSelection", selectedRoute: "default/all/0", … }`. Secrets are redacted. */
  readonly message: Readonly<Record<string, unknown>>;
}

/** A gateway that runs in this process; `await using` stops it. */
export interface RunningGateway extends AsyncDisposable {
  /**
   * Replaces the configuration without dropping a request. A gateway that follows a source returns to it when the source changes.
   * @throws {ConfigurationError} If the configuration is invalid or a port cannot be opened; the running one stays.
   */
  apply(config: Configuration): Promise<void>;
  /** Reads the source again and applies it, as for SIGHUP. `status().lastRejected` has the errors if it is invalid. */
  reload(): Promise<void>;
  /** Returns the configuration in force, and the last one that was rejected. */
  status(): GatewayStatus;
  /** Returns whether requests should be sent to the gateway. */
  readiness(): Readiness;
  /** Returns the addresses that accept requests. */
  addresses(): Promise<readonly PortAddress[]>;
  /**
   * Traces the next requests; resolves once the gateway watches for them. The result ends after the last of them.
   * @throws {Error} If the filter is not an expression, or too many readers are waiting.
   */
  traces(query?: TraceQuery): Promise<AsyncIterable<TraceRecord>>;
  /** Returns the metrics in the Prometheus text format. */
  metrics(): Promise<string>;
  /**
   * Stops accepting, and lets requests finish for `timeoutMs`. May be called twice.
   *
   * Without `timeoutMs`, takes `config.lameDuck` and `config.drainTimeout`.
   */
  stop(timeoutMs?: number): Promise<void>;
}

/**
 * Starts a gateway in this process.
 * @throws {ConfigurationError} If the configuration is invalid or a port cannot be opened.
 * @throws {ConfigReadError} If the source cannot be read.
 */
export async function startGateway(
  { config, ...options }: StartOptions,
): Promise<RunningGateway> {
  const policies = registryWith(options.policies);
  const source = new ReplaceableSource(
    isSource(config) ? config : textSource(toText(config)),
  );
  const gateway = await Gateway.start({
    ...options,
    policies,
    config: source,
  });
  // One after the other, so that each rejection is that of its own configuration.
  let applying = Promise.resolve();
  return {
    apply(config) {
      const applied = applying.then(() =>
        replaceConfiguration(gateway, source, config, {
          ...options,
          policies,
        })
      );
      applying = applied.catch(() => {});
      return applied;
    },
    reload: () => gateway.reload(),
    status: () => gateway.status(),
    readiness: () => gateway.readiness(),
    addresses: () => gateway.addresses(),
    traces: (query = {}) => startTraces(gateway.dataPlane, query),
    metrics: () => gateway.dataPlane.call("collectMetrics"),
    stop: (timeoutMs) => gateway.stop(timeoutMs),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

function isSource(
  config: Configuration | ConfigurationSource,
): config is ConfigurationSource {
  return typeof config === "object" && "read" in config && "watch" in config;
}

/** JSON is YAML; a list becomes one document for each resource. */
function toText(config: Configuration): string {
  if (typeof config === "string") return config;
  const documents = Array.isArray(config) ? config : [config];
  return documents.map((each) => JSON.stringify(each)).join("\n---\n");
}

/** Follows a source until its configuration is replaced, and again after the source has changed. */
class ReplaceableSource implements ConfigurationSource {
  replacement: string | undefined;
  readonly #source: ConfigurationSource;

  constructor(source: ConfigurationSource) {
    this.#source = source;
  }

  read(): Promise<readonly ConfigText[]> {
    return this.replacement === undefined
      ? this.#source.read()
      : textSource(this.replacement).read();
  }

  async watch(options: WatchOptions): Promise<AsyncIterable<void>> {
    return this.#returnToSource(await this.#source.watch(options));
  }

  async *#returnToSource(changes: AsyncIterable<void>): AsyncGenerator<void> {
    for await (const _ of changes) {
      this.replacement = undefined;
      yield;
    }
  }
}

async function replaceConfiguration(
  gateway: Gateway,
  source: ReplaceableSource,
  config: Configuration,
  options: CandidateOptions,
): Promise<void> {
  const { replacement } = source;
  const text = toText(config);
  source.replacement = text;
  await gateway.reload();
  const rejected = gateway.status().lastRejected;
  if (rejected === undefined) return;
  source.replacement = replacement;
  throw await rejectionOf(textSource(text), rejected, options);
}

async function rejectionOf(
  source: ConfigurationSource,
  rejected: RejectedConfiguration,
  options: CandidateOptions,
): Promise<ConfigurationError> {
  const candidate = await loadCandidate(source, options);
  const diagnostics = await checkCandidate(candidate);
  const texts = candidate.sources;
  if (diagnostics.some(({ severity }) => severity === "error")) {
    return new ConfigurationError(diagnostics, texts);
  }
  // Valid, but not possible on this machine, such as a port that is taken.
  const [message = ""] = rejected.diagnostics;
  const place = { file: texts[0]?.name ?? "", line: 1, column: 1, path: "" };
  return new ConfigurationError([{ ...place, severity: "error", message }], []);
}

async function startTraces(
  dataPlane: DataPlane,
  query: TraceQuery,
): Promise<AsyncIterable<TraceRecord>> {
  const answer = await dataPlane.traceNext(query);
  if ("rejection" in answer) throw new Error(answer.message);
  const { stream } = answer;
  return (async function* () {
    try {
      for await (const event of stream) {
        yield { ...event, message: { ...event.message } };
      }
    } finally {
      stream.stop();
    }
  })();
}
