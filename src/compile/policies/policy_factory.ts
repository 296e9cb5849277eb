import type { TrafficPolicy } from "../../api/resources/gateway_policy.ts";
import type { Policy } from "../../policy/policy.ts";
import type { PolicyKind, PolicyOptions } from "../../policy/policy_kind.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type { EffectivePolicy } from "./effective_policy.ts";

/** Where a policy runs, and the namespace of the resource that has it. */
interface PolicySite {
  readonly listenerPort: number;
  readonly namespace: string;
}

/** What every policy is made with. */
export interface PolicyFactoryOptions
  extends Pick<PolicyOptions, "readFile" | "hide" | "services"> {
  readonly backends: ReadonlyMap<string, Backend>;
}

/** Makes policies, one for each configuration however many routes it is attached to. */
export class PolicyFactory {
  readonly #options: PolicyFactoryOptions;
  readonly #made = new Map<TrafficPolicy, Map<string, Policy>>();

  constructor(options: PolicyFactoryOptions) {
    this.#options = options;
  }

  /** The policies that run for a listener's port, in order. */
  createAll(
    effective: readonly EffectivePolicy[],
    listenerPort: number,
  ): Policy[] {
    return effective.flatMap(({ kind, layers }) => {
      const sited = layers.map(({ traffic, scope, resource }) => {
        const { namespace } = resource.metadata;
        return { traffic, scope, site: { listenerPort, namespace } };
      });
      if (kind.combine !== undefined) {
        return [kind.combine(sited.map(({ traffic, scope, site }) => (
          { scope, config: traffic, options: this.#optionsFor(site) }
        )))];
      }
      return sited.map(({ traffic, site }) => this.create(kind, traffic, site))
        .filter((policy) => policy !== undefined);
    });
  }

  /** `undefined` when `traffic` does not configure the kind. */
  create(
    kind: PolicyKind,
    traffic: TrafficPolicy,
    site: PolicySite,
  ): Policy | undefined {
    const key = `${kind.kind}:${site.listenerPort}`;
    const known = this.#made.get(traffic)?.get(key);
    if (known !== undefined) return known;
    const policy = kind.create(traffic, this.#optionsFor(site));
    if (policy === undefined) return undefined;
    const ofTraffic = this.#made.get(traffic) ?? new Map<string, Policy>();
    this.#made.set(traffic, ofTraffic.set(key, policy));
    return policy;
  }

  #optionsFor({ listenerPort, namespace }: PolicySite): PolicyOptions {
    const { readFile, hide, services, backends } = this.#options;
    return {
      listenerPort,
      readFile,
      hide,
      services,
      connectionOf(ref) {
        const key = `${ref.namespace ?? namespace}/${ref.name}`;
        const backend = backends.get(key);
        if (backend === undefined || backend.tls === "invalid") {
          return undefined;
        }
        return { ...backend, tls: backend.tls };
      },
    };
  }
}
