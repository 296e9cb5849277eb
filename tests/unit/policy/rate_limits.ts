import { usageListeners } from "../../../src/policy/contract/request_listeners.ts";
import { jwtClaims } from "../../../src/policy/authentication/request_identity.ts";
import type { RateLimit } from "../../../src/policy/rate_limit/rate_limit_schema.ts";
import type {
  Policy,
  PolicyContext,
} from "../../../src/policy/contract/policy.ts";
import { noopServices } from "../../../src/policy/noop_services.ts";
import { createRateLimit } from "../../../src/policy/rate_limit/rate_limit_policy.ts";
import type { GlobalLimiter } from "../../../src/ratelimit/limiter/global_limiter.ts";
import { LocalCounterStore } from "../../../src/ratelimit/local/local_counter_store.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import { context, headersOf, response, responseOf } from "./exchange.ts";

type Local = Partial<NonNullable<RateLimit["local"]>[number]>;
/** Target of the policies in these tests. */
export const route = "HTTPRoute/default/a";

/** A process with a clock of its own; `limiter` answers for every `global` block. */
export class Process {
  readonly clock = new FakeClock();
  readonly counters = new LocalCounterStore(this.clock);
  readonly log = new RecordedLog();
  limiter: GlobalLimiter | undefined;

  policy(...layers: readonly (readonly [scope: string, RateLimit])[]): Policy {
    const options = {
      owner: "default/policy",
      listenerPort: 80,
      readFile: () => "",
      hide: (text: string) => text,
      connectionOf: () => undefined,
      readSecret: () => "",
      services: {
        ...noopServices({
          counters: this.counters.lease(),
          globalLimiter: () => this.limiter,
        }),
        clock: this.clock,
        log: this.log,
      },
    };
    return createRateLimit(
      layers.map(([scope, config]) => ({ scope, config, options })),
    );
  }
}

/** `rateLimit` with local entries; per minute unless they say otherwise. */
export function local(...entries: readonly Local[]): RateLimit {
  return {
    local: entries.map((entry) => ({
      unit: "Minutes",
      overshoot: "Forgive",
      ...entry,
    })),
  };
}

/** Returns the `x-ratelimit-*` fields of a response as `limit/remaining/reset`. */
export function shown(headers: Readonly<Record<string, string>>): string {
  return ["limit", "remaining", "reset"].map((name) =>
    headers[`x-ratelimit-${name}`]
  ).join("/");
}

/** Sends a request; the answer of the upstream or of the policy as `status limit/remaining/reset`. */
export async function send(
  policy: Policy,
  on: PolicyContext = context({}),
): Promise<string> {
  const verdict = responseOf(await policy.onRequest?.(on));
  const answer = verdict ?? response({ "X-RateLimit-Remaining": "upstream" });
  await policy.onResponse?.(on, answer);
  return `${answer.status} ${shown(headersOf(answer))}`;
}

/** A request of a user; of nobody when `undefined`. */
export function asUser(sub: string | undefined): PolicyContext {
  const on = context({});
  if (sub !== undefined) on.slots.set(jwtClaims, { sub });
  return on;
}

/** Reports to the policies that the request used so many tokens. */
export function use({ slots }: PolicyContext, totalTokens: number): void {
  const { listeners = [] } = slots.get(usageListeners) ?? {};
  for (const listener of listeners) {
    listener.settle(
      { totalTokens, isPriced: true } as never,
    );
  }
}
