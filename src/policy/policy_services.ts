import { type Clock, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Peer } from "../http/transport.ts";
import {
  type IdentityLease,
  IdentityStore,
} from "../identity/identity_store.ts";
import { noKeyCache } from "../identity/key_cache.ts";

/** What policies use while they run; its state outlives the configuration. */
export interface PolicyServices {
  readonly clock: Clock;
  /** Whether an address belongs to a proxy whose `X-Forwarded-*` fields can be believed. */
  trustsPeer(peer: Peer): boolean;
  /** Keys and metadata of identity providers. */
  readonly identity: Pick<IdentityLease, "keys" | "metadata">;
}

/** Services for policies that are made and never run: nothing is fetched unless somebody asks. */
export function inertServices(): PolicyServices {
  const clock = systemClock;
  const store = new IdentityStore({ clock, log: silence, cache: noKeyCache });
  return { clock, trustsPeer: () => false, identity: store.lease() };
}

const silence: Log = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  trace() {},
  isEnabled: () => false,
};
