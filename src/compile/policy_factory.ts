import type { TrafficPolicy } from "../api/gateway_policy.ts";
import type { Policy } from "../policy/policy.ts";
import type { PolicyKind, ReadFile } from "../policy/policy_kind.ts";
import type { EffectivePolicy } from "./effective_policy.ts";

/** Makes policies, one for each configuration however many routes it is attached to. */
export class PolicyFactory {
  readonly #readFile: ReadFile;
  readonly #made = new Map<TrafficPolicy, Map<string, Policy>>();

  constructor(readFile: ReadFile) {
    this.#readFile = readFile;
  }

  /** The policies that run for a listener's port, in order. */
  createAll(
    effective: readonly EffectivePolicy[],
    listenerPort: number,
  ): Policy[] {
    return effective.flatMap(({ kind, layers }) =>
      layers.map(({ traffic }) => this.create(kind, traffic, listenerPort))
        .filter((policy) => policy !== undefined)
    );
  }

  /** `undefined` when `traffic` does not configure the kind. */
  create(
    kind: PolicyKind,
    traffic: TrafficPolicy,
    listenerPort: number,
  ): Policy | undefined {
    const key = `${kind.kind}:${listenerPort}`;
    const known = this.#made.get(traffic)?.get(key);
    if (known !== undefined) return known;
    const policy = kind.create(traffic, {
      listenerPort,
      readFile: this.#readFile,
    });
    if (policy === undefined) return undefined;
    const ofTraffic = this.#made.get(traffic) ?? new Map<string, Policy>();
    this.#made.set(traffic, ofTraffic.set(key, policy));
    return policy;
  }
}
