import type { PolicyBackendRef } from "../../api/resources/policy_references.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import type { Hide, SensitiveHeaders } from "../../base/redaction.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import type { UpstreamOptions } from "../../http/client/upstream.ts";
import type { Peer } from "../../http/transport.ts";
import type { Slot, Slots } from "./slot.ts";

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
  /** The same for requests to LLMs. */
  readonly maxLlmBodyBytes: number;
  /** Headers whose values must not be shown. */
  readonly sensitiveHeaders: SensitiveHeaders;
  /** Reports whether an address belongs to a proxy whose `X-Forwarded-*` fields are trusted. */
  trustsPeer(peer: Peer): boolean;
  /** Services that only some kinds need; each such kind declares a slot for its own. Read them with `servicesIn`. */
  readonly ofKinds: Slots;
}

/** Returns the services that a kind has declared. @throws {TypeError} When the gateway does not provide them. */
export function servicesIn<T>(services: PolicyServices, slot: Slot<T>): T {
  const own = services.ofKinds.get(slot);
  if (own !== undefined) return own;
  throw new TypeError(`The gateway has no services for "${slot.name}"`);
}

/** Services of one policy; the state behind them stays until the lease is released. */
export interface PolicyLease {
  readonly services: PolicyServices;
  /** Resolves when the state can be used: before the first request. */
  ready(): Promise<void>;
  release(): void;
}
