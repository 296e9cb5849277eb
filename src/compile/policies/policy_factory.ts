import type { Attached } from "../attach/attach_policies.ts";
import { namespacedName } from "../resolve/precedence.ts";
import { type Inputs } from "../resolve/references.ts";
import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import { type Alternative, anyOf } from "../../policy/contract/alternatives.ts";
import type { RunningPolicy } from "../../policy/contract/policy.ts";
import {
  type PolicyKind,
  type PolicyOptions,
  UnusableReferenceError,
} from "../../policy/contract/policy_kind.ts";
import type {
  PolicyLease,
  PolicyServices,
} from "../../policy/contract/policy_services.ts";
import type { CompileMemory, ResultTable } from "../memory/compile_memory.ts";
import type { Named } from "../memory/report.ts";
import { mayCall, type PolicyChecks, secretsFor } from "./check_policies.ts";
import type { EffectivePolicy, PolicyLayer } from "./compiled_rules.ts";

/** The listener port where a policy runs, and the resource that configures it. */
interface PolicySite {
  readonly listenerPort: number;
  readonly resource: Named;
}

/** Dependencies of the policies of a configuration. */
export interface PolicyFactoryOptions {
  readonly checks: PolicyChecks;
  readonly inputs: Inputs;
  readonly attached: Attached;
  readonly memory: CompileMemory;
  /** Returns services for a policy. */
  readonly lease: () => PolicyLease;
}

/** A policy and the state that it holds while it is used. */
interface LeasedPolicy {
  readonly policy: RunningPolicy | undefined;
  readonly lease: PolicyLease;
}

/**
 * Creates policies, one per configuration however many routes it is attached to; of kinds that combine, one per list of
 * configurations. A configuration with an error becomes a policy that denies every request.
 */
export class PolicyFactory {
  readonly #options: PolicyFactoryOptions;
  readonly #created: ResultTable<string, LeasedPolicy>;
  /** By object in a key of `#created`: a number that stands for it. */
  readonly #ids = new WeakMap<object, number>();
  #lastId = 0;

  constructor(options: PolicyFactoryOptions) {
    this.#options = options;
    this.#created = options.memory.table(({ lease }) => lease.release());
  }

  /** Resolves when the policies that the running configuration does not have can be used. */
  async ready(): Promise<void> {
    await Promise.all(this.#created.added().map(({ lease }) => lease.ready()));
  }

  /** Returns the policies that run for a listener's port, in order. */
  createAll(
    effective: readonly EffectivePolicy[],
    listenerPort: number,
  ): RunningPolicy[] {
    const alternatives: Alternative[] = [];
    const policies = effective.flatMap(({ kind, layers }) => {
      if (kind.combine !== undefined) {
        return this.#combine(kind, layers, listenerPort) ?? [];
      }
      return layers.flatMap(({ traffic, resource }) => {
        const policy = this.create(kind, traffic, { listenerPort, resource });
        const reason = kind.alternative(traffic);
        if (policy !== undefined && reason !== undefined) {
          alternatives.push({ policy, reason });
        }
        return policy ?? [];
      });
    });
    return withAlternatives(policies, alternatives);
  }

  /** Returns `undefined` when `traffic` does not configure the kind. */
  create(
    kind: PolicyKind,
    traffic: TrafficPolicy,
    site: PolicySite,
  ): RunningPolicy | undefined {
    const config = traffic[kind.name];
    if (config === undefined) return undefined;
    return this.#createOnce(
      [kind, site.listenerPort, config],
      (services) =>
        this.#deny(kind, [traffic]) ??
          denyOnFailure(
            kind,
            () => kind.create(traffic, this.#optionsFor(site, services)),
          ),
    );
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
      (services) =>
        this.#deny(kind, layers.map(({ traffic }) => traffic)) ??
          denyOnFailure(kind, () =>
            kind.combine?.(layers.map(({ traffic, scope, resource }) => {
              const site = { listenerPort, resource };
              const options = this.#optionsFor(site, services);
              return { scope, config: traffic, options };
            }))),
    );
  }

  #createOnce(
    parts: readonly unknown[],
    create: (services: PolicyServices) => RunningPolicy | undefined,
  ): RunningPolicy | undefined {
    const key = parts.map((part) => this.#nameOf(part)).join();
    const { policy } = this.#created.recall(key, () => {
      const lease = this.#options.lease();
      try {
        return { policy: create(lease.services), lease };
      } catch (error) {
        lease.release();
        throw error;
      }
    });
    return policy;
  }

  #nameOf(part: unknown): string {
    if (typeof part !== "object" || part === null) return JSON.stringify(part);
    const known = this.#ids.get(part) ?? ++this.#lastId;
    this.#ids.set(part, known);
    return `#${known}`;
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

  #optionsFor(
    { listenerPort, resource }: PolicySite,
    services: PolicyServices,
  ): PolicyOptions {
    const { checks, inputs, attached } = this.#options;
    const { namespace } = resource.metadata;
    return {
      ...checks.options,
      listenerPort,
      owner: namespacedName(resource),
      services,
      connectionOf(ref) {
        const key = `${ref.namespace ?? namespace}/${ref.name}`;
        const backend = mayCall(namespace, ref, inputs)
          ? attached.read(({ backends }) => backends.get(key))
          : undefined;
        if (backend === undefined || backend.tls === "invalid") {
          return undefined;
        }
        return { ...backend, tls: backend.tls };
      },
      readSecret: secretsFor(namespace, inputs),
    };
  }
}

/**
 * Replaces policies of mode `AnyOf` by ones that decide together. They run in reverse order: keys first, which are not for the
 * identity provider, and tokens last, whose challenge lets clients log in.
 */
function withAlternatives(
  policies: RunningPolicy[],
  alternatives: readonly Alternative[],
): RunningPolicy[] {
  if (alternatives.length === 0) return policies;
  const merged = [...anyOf(alternatives.toReversed())];
  const own = new Set(alternatives.map(({ policy }) => policy));
  return policies.map((policy) =>
    own.has(policy) ? merged.shift() ?? policy : policy
  );
}

/** Creates a policy; one with a reference that cannot be used denies every request. */
function denyOnFailure(
  kind: PolicyKind,
  create: () => RunningPolicy | undefined,
): RunningPolicy | undefined {
  try {
    return create();
  } catch (error) {
    if (!(error instanceof UnusableReferenceError)) throw error;
    return kind.deny(error.message);
  }
}
