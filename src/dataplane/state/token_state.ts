import type { Settings } from "../../api/settings.ts";
import { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError, type GatewayError } from "../../base/errors.ts";
import type { Logger } from "../../base/log/log.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import type { TokenCredentials } from "../../identity/backend_tokens/backend_credentials.ts";
import { BackendTokens } from "../../identity/backend_tokens/backend_tokens.ts";
import { CloudTokens } from "../../identity/backend_tokens/cloud/cloud_tokens.ts";
import { SharedTokens } from "../../identity/backend_tokens/shared_tokens.ts";
import { TokenEndpoints } from "../../identity/backend_tokens/token_endpoint.ts";
import { TokenSource } from "../../identity/backend_tokens/token_source.ts";
import type { UserLogin } from "../../identity/backend_tokens/backend_credentials.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import type { TrafficMetrics } from "../../telemetry/metrics/gateway_metrics.ts";
import {
  type ConnectionState,
  createConnections,
  loginsOf,
  readPageLogins,
} from "./connection_state.ts";
import { createVault } from "./stores/kv_stores.ts";

/** Dependencies of the tokens of a thread. */
export interface TokenStateOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: TrafficMetrics;
  /** Decides which servers may be asked. */
  readonly egress: EgressPolicy;
  /** Returns the configuration in force. */
  snapshot(): Snapshot;
}

/** The gateway's tokens for backends; they outlive configurations that do not change them. */
export class TokenState {
  readonly tokens: BackendTokens;
  /** Connections of users at services; `undefined` without `config.connections`. */
  readonly connections: ConnectionState | undefined;
  readonly #closing = new Cancellation();

  readonly #vault: ReturnType<typeof createVault>;

  /** @throws {Error} When the keys of the vault, or a secret, cannot be read. */
  constructor(options: TokenStateOptions) {
    const { settings, clock, logger, metrics, egress } = options;
    const log = logger.module("identity");
    // A secret that cannot be read throws before a store is open, which nobody would close.
    const pageLogins = settings.connections &&
      readPageLogins(settings.connections);
    this.#vault = createVault(options);
    const vault = this.#vault?.vault;
    const cancellation = this.#closing;
    const onRequested = (
      { backend, kind }: Pick<TokenCredentials | UserLogin, "backend" | "kind">,
      error: GatewayError | undefined,
    ) => {
      const result = error === undefined
        ? "issued"
        : error.code === "credentials_unavailable"
        ? "unavailable"
        : "rejected";
      const name = backend.replace(/^[^/]*\//, "");
      metrics.backendTokens.labels(name, result).inc();
      // Callers may be rejected at any rate; their requests have the error in the access log.
      if (error === undefined || error.code === "caller_rejected") return;
      log.warn("Cannot get a token for a backend", {
        backend,
        credentials: kind,
        error: describeError(error),
      });
    };
    this.connections = settings.connections && pageLogins && this.#vault &&
      createConnections({
        ...options,
        settings: settings.connections,
        pageLogins,
        vault: this.#vault,
        log,
        cancellation,
        onRequested,
        onEnded: (login, user) => this.tokens.forget(login, user),
        logins: () => loginsOf(options.snapshot()),
      });
    this.tokens = new BackendTokens({
      clock,
      source: new TokenSource(
        new TokenEndpoints({ clock, egress, cancellation }),
        new CloudTokens({ clock, cancellation }),
      ),
      shared: vault && new SharedTokens({ vault, clock, log }),
      connections: this.connections?.connections,
      onRequested,
    });
  }

  /** Aborts token requests, and closes the vault. */
  async close(): Promise<void> {
    this.#closing.cancel(new Error("the gateway is stopping"));
    await this.#vault?.store.close();
  }
}
