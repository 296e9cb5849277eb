import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import {
  type Upstream,
  type UpstreamBounds,
  type UpstreamStats,
} from "../http/client/upstream.ts";
import { createUpstream } from "../http/client/pooled_upstream.ts";
import type { Backend, Snapshot } from "../snapshot/snapshot.ts";
import { createWebUi, type WebUiHandler } from "./web_ui_upstream.ts";

/** Sends requests to a backend. */
export type Sender = Pick<Upstream, "send">;

/**
 * The upstreams in use: connections outlive the configuration that named them.
 *
 * Backends that connect in the same way share one upstream, so a reload that does not touch a backend keeps its connections.
 */
export class Upstreams {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #byConnection = new Map<
    string,
    { readonly endpoint: string; readonly upstream: Upstream }
  >();
  /** Saves the look-up by text for each request; dies with its snapshot. */
  #byBackend = new WeakMap<Backend, Sender>();
  readonly #webUi: WebUiHandler | undefined;

  /** @param webUi Left out where there is no web UI. */
  constructor(clock: Clock, log: Log, webUi?: WebUiHandler) {
    this.#clock = clock;
    this.#log = log;
    this.#webUi = webUi;
  }

  /**
   * The upstream of a backend.
   * @throws {GatewayError} `upstream_tls_failed` when its TLS settings are invalid: it is never spoken to in plain text instead.
   */
  get(backend: Backend): Sender {
    const known = this.#byBackend.get(backend);
    if (known !== undefined) return known;
    const upstream = backend.webUi === undefined
      ? this.#findOrCreate(backend)
      : createWebUi(this.#webUi, backend.webUi);
    this.#byBackend.set(backend, upstream);
    return upstream;
  }

  /** Retires the upstreams that `snapshot` no longer names; requests under way finish. */
  retainOnly(snapshot: Snapshot): void {
    const wanted = new Set([...snapshot.backends.values()].map(connectionKey));
    for (const [key, { upstream }] of this.#byConnection) {
      if (wanted.has(key)) continue;
      this.#byConnection.delete(key);
      upstream.retire();
    }
  }

  /** Connection counts over all upstreams. */
  stats(): Pick<UpstreamStats, "active" | "idle" | "connects"> {
    const total = { active: 0, idle: 0, connects: 0 };
    for (const { stats } of this.describe()) {
      total.active += stats.active;
      total.idle += stats.idle;
      total.connects += stats.connects;
    }
    return total;
  }

  /** Every upstream with its endpoint, `host:port`. */
  *describe(): Iterable<
    { endpoint: string; stats: UpstreamStats; bounds: UpstreamBounds }
  > {
    for (const { endpoint, upstream } of this.#byConnection.values()) {
      const { stats, bounds } = upstream;
      yield { endpoint, stats, bounds };
    }
  }

  /** Cuts every connection. */
  close(): void {
    for (const { upstream } of this.#byConnection.values()) upstream.close();
    this.#byConnection.clear();
    this.#byBackend = new WeakMap();
  }

  #findOrCreate(backend: Backend): Upstream {
    const { tls } = backend;
    if (tls === "invalid") {
      throw new GatewayError(
        "upstream_tls_failed",
        "gateway",
        `Cannot connect to backend "${backend.key}": its TLS policy is invalid`,
      );
    }
    const key = connectionKey(backend);
    const known = this.#byConnection.get(key);
    if (known !== undefined) return known.upstream;
    const upstream = createUpstream(
      { ...backend, tls },
      this.#clock,
      this.#log,
    );
    const endpoint = `${backend.host}:${backend.port}`;
    this.#byConnection.set(key, { endpoint, upstream });
    return upstream;
  }
}

/** Equal for backends that connect in the same way, whatever they are called. */
function connectionKey(backend: Backend): string {
  const { key: _key, name: _name, ...connection } = backend;
  return JSON.stringify(connection);
}
