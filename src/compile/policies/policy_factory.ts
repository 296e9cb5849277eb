import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type { RunningPolicy } from "../../policy/policy.ts";
import type { PolicyKind, PolicyOptions } from "../../policy/policy_kind.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type { EffectivePolicy, PolicyLayer } from "./effective_policy.ts";
import type { PolicyChecks } from "./policy_checks.ts";

/** The listener port where a policy runs, and the namespace of the resource that configures it. */
interface PolicySite {
  readonly listenerPort: number;
  readonly namespace: string;
}

/** Dependencies of the policies of a configuration. */
export interface PolicyFactoryOptions {
  readonly checks: PolicyChecks;
  readonly services: PolicyOptions["services"];
  readonly backends: ReadonlyMap<string, Backend>;
}

/**
 * Creates policies, one per configuration however many routes it is attached to; of kinds that combine, one per list of
 * configurations. A configuration with an error becomes a policy that denies every request.
 */
export class PolicyFactory {
  readonly #options: PolicyFactoryOptions;
  readonly #created = new Map<string, RunningPolicy | undefined>();
  /** By part of a key of `#created`: a number that stands for it. */
  readonly #ids = new Map<unknown, number>();

  constructor(options: PolicyFactoryOptions) {
    this.#options = options;
  }

  /** Returns the policies that run for a listener's port, in order. */
  createAll(
    effective: readonly EffectivePolicy[],
    listenerPort: number,
  ): RunningPolicy[] {
    return effective.flatMap(({ kind, layers }) => {
      if (kind.combine !== undefined) {
        return this.#combine(kind, layers, listenerPort) ?? [];
      }
      return layers.flatMap(({ traffic, resource }) => {
        const { namespace } = resource.metadata;
        return this.create(kind, traffic, { listenerPort, namespace }) ?? [];
      });
    });
  }

  /** Returns `undefined` when `traffic` does not configure the kind. */
  create(
    kind: PolicyKind,
    traffic: TrafficPolicy,
    site: PolicySite,
  ): RunningPolicy | undefined {
    const key = [kind, site.listenerPort, traffic[kind.name]];
    return this.#createOnce(key, () =>
      this.#deny(kind, [traffic]) ??
        kind.create(traffic, this.#optionsFor(site)));
  }

  #combine(
    kind: PolicyKind,
    layers: readonly PolicyLayer[],
    listenerPort: number,
  ): RunningPolicy | undefined {
    const parts = layers.flatMap(({ traffic, scope }) => [
      traffic[kind.name],
      scope,
    ]);
    return this.#createOnce(
      [kind, listenerPort, ...parts],
      () =>
        this.#deny(kind, layers.map(({ traffic }) => traffic)) ??
          kind.combine?.(layers.map(({ traffic, scope, resource }) => {
            const { namespace } = resource.metadata;
            const options = this.#optionsFor({ listenerPort, namespace });
            return { scope, config: traffic, options };
          })),
    );
  }

  #createOnce(
    parts: readonly unknown[],
    create: () => RunningPolicy | undefined,
  ): RunningPolicy | undefined {
    const key = parts.map((part) => {
      const id = this.#ids.get(part) ?? this.#ids.size;
      this.#ids.set(part, id);
      return id;
    }).join();
    if (!this.#created.has(key)) this.#created.set(key, create());
    return this.#created.get(key);
  }

  /** Returns the policy that stands in for configurations with an error; `undefined` when they have none. */
  #deny(
    kind: PolicyKind,
    configured: readonly TrafficPolicy[],
  ): RunningPolicy | undefined {
    const error = configured
      .flatMap((traffic) => this.#options.checks.problemsOf(kind, traffic))
      .find(({ isWarning }) => isWarning === undefined);
    return error && kind.deny(error.message);
  }

  #optionsFor({ listenerPort, namespace }: PolicySite): PolicyOptions {
    const { checks, services, backends } = this.#options;
    return {
      ...checks.options,
      listenerPort,
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
