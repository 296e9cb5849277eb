import type { DiagnosticPath } from "../base/diagnostic.ts";
import { GatewayError } from "../base/errors.ts";
import type { Hide } from "../base/redaction.ts";
import type {
  TrafficPolicy,
  TrafficPolicyKind,
} from "../api/resources/gateway_policy.ts";
import type { Policy } from "./policy.ts";
import type { BackendAccess, PolicyServices } from "./policy_services.ts";

/** What is wrong with the configuration of a policy; `path` starts inside that configuration. */
export interface PolicyProblem {
  readonly path: DiagnosticPath;
  readonly message: string;
  /** A value that may have been meant. */
  readonly suggestion?: string;
  /** Where in the text at `path` it is, in UTF-16 units from its beginning. */
  readonly offset?: number;
  /** It can be run, though hardly as it was meant. */
  readonly isWarning?: true;
}

/** Reads a text file whose path is as it stands in the configuration; throws when it cannot. */
export type ReadFile = (path: string) => string;

/** Dependencies of checking a policy's configuration. */
export interface CheckOptions {
  /** Reads the files that the configuration names. */
  readonly readFile: ReadFile;
  /**
   * Redacts strings of the configuration for log, trace and metrics. One function per configuration: expressions are compiled once
   * for each.
   */
  readonly hide: Hide;
}

/** Dependencies of creating a policy for one place where it runs. */
export interface PolicyOptions extends CheckOptions, BackendAccess {
  /** Port of the listener that accepted the request. */
  readonly listenerPort: number;
  readonly services: PolicyServices;
}

/** A policy that can be configured: how it is checked, merged and made. */
export interface PolicyKind {
  /** Its field in `spec.traffic`. */
  readonly kind: TrafficPolicyKind;
  /** `replace`: the most specific configuration counts; `accumulate`: all of them apply, the least specific first. */
  readonly merge: "replace" | "accumulate";
  /** Finds the problems that the schema of the configuration cannot express. */
  check(
    traffic: TrafficPolicy,
    options: CheckOptions,
  ): readonly PolicyProblem[];
  /**
   * Creates the policy, or returns `undefined` when `traffic` does not configure this kind. Never checks: the caller calls
   * `denyingPolicy` for a configuration with a problem that is no warning.
   */
  create(traffic: TrafficPolicy, options: PolicyOptions): Policy | undefined;
  /** Creates one policy from all configurations that apply, in place of `create` for each; they all configure this kind. */
  readonly combine?:
    | ((layers: readonly CombinedLayer<TrafficPolicy>[]) => Policy)
    | undefined;
  /** Loads the kind's code, where that is not there from the start; `check`, `create` and `combine` throw before. */
  load?(): Promise<void>;
}

/** One of several configurations that make a policy together. */
export interface CombinedLayer<C> {
  /** What it is attached to, such as `HTTPRoute/default/llm`. */
  readonly scope: string;
  readonly config: C;
  readonly options: PolicyOptions;
}

type ConfigOf<K extends TrafficPolicyKind> = NonNullable<TrafficPolicy[K]>;

/** How the configuration of one kind is checked and made into a policy. */
export interface PolicyDefinition<C> {
  readonly merge?: PolicyKind["merge"];
  check?(config: C, options: CheckOptions): readonly PolicyProblem[];
  create(config: C, options: PolicyOptions): Policy;
}

/** A kind from its definition. */
export function definePolicy<K extends TrafficPolicyKind>(
  kind: K,
  definition: PolicyDefinition<ConfigOf<K>>,
): PolicyKind {
  return {
    kind,
    merge: definition.merge ?? "replace",
    check(traffic, options) {
      const config = traffic[kind];
      return config && definition.check?.(config, options) || [];
    },
    create(traffic, options) {
      const config = traffic[kind];
      return config && definition.create(config, options);
    },
  };
}

/** How the configurations of one kind are checked and made into a policy together. */
export interface CombinedDefinition<C> {
  check(config: C, options: CheckOptions): readonly PolicyProblem[];
  create(layers: readonly CombinedLayer<C>[]): Policy;
}

/** A kind whose configurations all apply, as one policy. */
export function defineCombinedPolicy<K extends TrafficPolicyKind>(
  kind: K,
  { check, create }: CombinedDefinition<ConfigOf<K>>,
): PolicyKind {
  function combine(layers: readonly CombinedLayer<TrafficPolicy>[]): Policy {
    const configured = layers.flatMap(({ config, ...layer }) => {
      const own = config[kind];
      return own === undefined ? [] : [{ ...layer, config: own }];
    });
    return create(configured);
  }

  return {
    kind,
    merge: "accumulate",
    check(traffic, options) {
      const config = traffic[kind];
      return config === undefined ? [] : check(config, options);
    },
    create(traffic, options) {
      if (traffic[kind] === undefined) return undefined;
      return combine([{ scope: "", config: traffic, options }]);
    },
    combine,
  };
}

/** Creates a stand-in for a policy that cannot run; it rejects every request. */
export function denyingPolicy(kind: string, problem: string): Policy {
  return {
    kind,
    onRequest() {
      throw new GatewayError("invalid_policy", "gateway", problem);
    },
  };
}
