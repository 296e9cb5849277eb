import type { Clock } from "../../base/clock.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { createUpstream } from "../../http/client/pool/pooled_upstream.ts";
import type { Upstream, UpstreamOptions } from "../../http/client/upstream.ts";
import { defineSlot } from "../contract/slot.ts";

/** Address of an authorizer. */
export type AuthorizerPlace = Pick<
  UpstreamOptions,
  "host" | "port" | "protocol" | "tls"
>;

/** Services that `extAuthz` needs. */
export interface AuthorizerServices {
  /** Returns the connections to an authorizer, which policies share. */
  upstream(place: AuthorizerPlace): Pick<Upstream, "send">;
}

/** Slot of the services that `extAuthz` needs. */
export const authorizerServices = defineSlot<AuthorizerServices>("extAuthz");

/** Connections of one configuration. */
export interface AuthorizerLease extends AuthorizerServices {
  release(): void;
}

interface Entry {
  readonly upstream: Upstream;
  users: number;
}

/** Connections to authorizers, which outlive configurations. */
export class Authorizers {
  readonly #clock: Clock;
  readonly #egress: EgressPolicy;
  readonly #entries = new Map<string, Entry>();

  /** @param egress Decides which addresses they may connect to. */
  constructor(clock: Clock, egress: EgressPolicy) {
    this.#clock = clock;
    this.#egress = egress;
  }

  lease(): AuthorizerLease {
    const releases: (() => void)[] = [];
    return {
      upstream: ({ host, port, protocol, tls }) => {
        const place = { host, port, protocol, tls };
        const key = JSON.stringify(place);
        const entry = this.#entries.get(key) ?? {
          upstream: createUpstream(
            { ...place, egress: this.#egress },
            this.#clock,
          ),
          users: 0,
        };
        entry.users++;
        this.#entries.set(key, entry);
        releases.push(() => {
          if (--entry.users > 0) return;
          this.#entries.delete(key);
          entry.upstream.retire();
        });
        return entry.upstream;
      },
      release() {
        for (const release of releases.splice(0)) release();
      },
    };
  }

  close(): void {
    for (const { upstream } of this.#entries.values()) upstream.close();
    this.#entries.clear();
  }
}
