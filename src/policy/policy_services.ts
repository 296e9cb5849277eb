import type { PolicyBackendRef } from "../api/resources/policy_backend_ref.ts";
import type { GlobalRateLimit } from "./rate_limit/rate_limit_schema.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Hide } from "../base/redaction.ts";
import { type EgressPolicy, openEgress } from "../base/wire/egress_policy.ts";
import type { UpstreamOptions } from "../http/client/upstream.ts";
import type { Peer } from "../http/transport.ts";
import {
  type IdentityLease,
  IdentityStore,
} from "../identity/identity_store.ts";
import { noDocumentCache } from "../identity/documents/document_cache.ts";
import {
  createMemoryLoginState,
  type LoginState,
} from "../oauth/login_state.ts";
import {
  LocalRegistrationTurns,
  type RegistrationTurns,
} from "./mcp/registration_turns.ts";
import type { PriceBook } from "../llm/cost/price_book.ts";
import type { CounterLease } from "../ratelimit/local/counter_store.ts";
import type { GlobalLimiter } from "../ratelimit/global_limiter.ts";
import { LocalCounterStore } from "../ratelimit/local/local_counter_store.ts";

/** Access of a policy to backends that it calls itself. */
export interface BackendAccess {
  /** Removes secrets of the configuration from a string before log, trace or metrics show it. */
  readonly hide: Hide;
  /** Returns how to connect to a backend; `undefined` when it does not exist or its TLS is invalid. */
  connectionOf(ref: PolicyBackendRef): UpstreamOptions | undefined;
}

/** Dependencies of running policies; their state outlives the configuration. */
export interface PolicyServices {
  readonly clock: Clock;
  readonly log: Log;
  /** Decides which servers policies may connect to. */
  readonly egress: EgressPolicy;
  /** Largest part of a body that is buffered where its content has to be read. */
  readonly maxBufferBytes: number;
  /** Reports whether an address belongs to a proxy whose `X-Forwarded-*` fields are trusted. */
  trustsPeer(peer: Peer): boolean;
  /** Keys and metadata of identity providers. */
  readonly identity: Pick<IdentityLease, "keys" | "metadata" | "verifier">;
  /** Logins of MCP clients at the gateway. */
  readonly logins: Pick<LoginState, "grants" | "secret">;
  /** Limits client registrations at identity providers. */
  readonly registrations: RegistrationTurns;
  /** Budgets of this process. */
  readonly counters: Pick<CounterLease, "limit">;
  /** Knows what tokens cost. */
  readonly prices: Pick<
    PriceBook,
    "isLoaded" | "load" | "price" | "warnUnknown"
  >;
  /** Returns the limiter of a `global` block; `undefined` when this process does not have that kind. */
  globalLimiter(
    config: GlobalRateLimit,
    options: BackendAccess,
  ): GlobalLimiter | undefined;
}

/** Services of one policy; the state behind them stays until the lease is released. */
export interface PolicyLease {
  readonly services: PolicyServices;
  /** Resolves when the state can be used: before the first request. */
  ready(): Promise<void>;
  release(): void;
}

/** Creates services for policies that never run, such as those of `--validate-only`. */
export function noopServices(): PolicyServices {
  const clock = systemClock;
  const store = new IdentityStore({
    clock,
    log: silence,
    egress: openEgress,
    cache: noDocumentCache,
  });
  return {
    clock,
    log: silence,
    egress: openEgress,
    maxBufferBytes: 0,
    trustsPeer: () => false,
    identity: store.lease(),
    logins: createMemoryLoginState(clock),
    registrations: new LocalRegistrationTurns(clock),
    counters: new LocalCounterStore(clock).lease(),
    prices: {
      isLoaded: true,
      load: () => Promise.resolve(),
      price: () => ({ nanoUsd: 0, isKnown: false }),
      warnUnknown() {},
    },
    globalLimiter: () => undefined,
  };
}

/** Creates a function that leases such services. */
export function noopLeases(): () => PolicyLease {
  const services = noopServices();
  return () => ({ services, ready: () => Promise.resolve(), release() {} });
}

const silence: Log = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  trace() {},
  isEnabled: () => false,
};
