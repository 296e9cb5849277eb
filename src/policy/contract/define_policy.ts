import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type * as s from "../../api/schema/schema.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Policy, RunningKind, RunningPolicy } from "./policy.ts";
import type {
  CombinedCode,
  CombinedLayer,
  Loadable,
  PolicyCode,
  PolicyFacts,
  PolicyKind,
  PolicyProblem,
  TypedPolicyKind,
} from "./policy_kind.ts";

/**
 * Defines a kind of policy. Once the kind is in a registry, configuration, traces, `/config_dump`, explanations, metrics and the
 * reference follow from it.
 *
 * @param name Its field in `spec.traffic`, such as `apiKeyAuthentication`.
 */
export function definePolicy<
  S extends s.GenericSchema,
  Reason extends string = never,
>(
  name: string,
  facts: PolicyFacts<s.Infer<S>, Reason> & {
    readonly schema: S;
    readonly merge: PolicyKind["merge"];
  },
  code: Loadable<PolicyCode<s.Infer<S>, Reason>>,
): TypedPolicyKind<s.Infer<S>> {
  const loaded = loadable(name, code);
  const base = createKind(name, facts, loaded);
  return {
    ...base,
    merge: facts.merge,
    create(traffic, options) {
      const config = base.configOf(traffic);
      return config === undefined
        ? undefined
        : running(base, loaded.get().create(config, options));
    },
  };
}

/** Defines a kind all of whose configurations apply, as one policy. */
export function defineCombinedPolicy<
  S extends s.GenericSchema,
  Reason extends string = never,
>(
  name: string,
  facts: PolicyFacts<s.Infer<S>, Reason> & { readonly schema: S },
  code: Loadable<CombinedCode<s.Infer<S>, Reason>>,
): TypedPolicyKind<s.Infer<S>> {
  const loaded = loadable(name, code);
  const base = createKind(name, facts, loaded);
  const combine = (layers: readonly CombinedLayer<TrafficPolicy>[]) => {
    const configured = layers.flatMap(({ config, ...layer }) => {
      const own = base.configOf(config);
      return own === undefined ? [] : [{ ...layer, config: own }];
    });
    return running(base, loaded.get().create(configured));
  };
  return {
    ...base,
    merge: "accumulate",
    combine,
    create: (traffic, options) =>
      base.configOf(traffic) === undefined
        ? undefined
        : combine([{ scope: "", config: traffic, options }]),
  };
}

/** Creates a stand-in for a policy that cannot run; it rejects every request. */
export function denyingPolicy(problem: string): Policy<never> {
  return {
    onRequest() {
      throw new GatewayError("invalid_policy", "gateway", problem);
    },
  };
}

type KindBase<C> = Omit<TypedPolicyKind<C>, "merge" | "create" | "combine">;

function createKind<C, Reason extends string>(
  name: string,
  { access, trace = traceFactsOf(name), ...facts }: PolicyFacts<C, Reason>,
  code: Code<Pick<PolicyCode<C, Reason>, "check">>,
): KindBase<C> {
  const { event, stage, selection } = trace;
  const configOf = (traffic: TrafficPolicy) => {
    const config = traffic[name];
    return isOfKind<C>(config) ? config : undefined;
  };
  const when = <T>(traffic: TrafficPolicy, use: (config: C) => T, none: T) => {
    const config = configOf(traffic);
    return config === undefined ? none : use(config);
  };
  const kind: KindBase<C> = {
    name,
    description: facts.description,
    schema: facts.schema,
    phases: facts.phases,
    rejections: facts.rejections,
    respondsAlways: facts.respondsAlways ?? false,
    identity: access === "open" ? undefined : access.identity,
    trace: {
      event,
      stageOf: typeof stage === "string" ? () => stage : stage,
    },
    selection: typeof selection === "string"
      ? { [selection]: (shown) => shown }
      : partsOf(selection),
    configOf,
    isRequired: (traffic) =>
      access !== "open" &&
      when(traffic, (config) => access.isRequired(config), false),
    alternative: (traffic) =>
      access !== "open" && when(traffic, hasAlternatives, false)
        ? access.alternative
        : undefined,
    credentials: (traffic) =>
      access === "open"
        ? []
        : when(traffic, (config) => access.credentials(config), []),
    wellKnown: (traffic) =>
      when(traffic, (config) => facts.wellKnown?.(config), undefined),
    ownPaths: (traffic) =>
      when(traffic, (config) => facts.ownPaths?.(config) ?? [], []),
    check: (traffic, options) =>
      when(traffic, (config) => code.get().check(config, options), []),
    checkReferences: (traffic, references) =>
      when(
        traffic,
        (config) => facts.checkReferences?.(config, references) ?? [],
        [],
      ),
    deny: (problem) => running(kind, denyingPolicy(problem)),
    load: code.load,
  };
  return kind;
}

/** Returns the names in traces of a kind with one name. */
function traceFactsOf(name: string) {
  const stage = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return { event: stage.replaceAll(" ", "_"), stage, selection: name };
}

/** Reports whether the mode of a configuration is `AnyOf`. */
function hasAlternatives(config: unknown): boolean {
  return typeof config === "object" && config !== null && "mode" in config &&
    config.mode === "AnyOf";
}

/** Reads parts of a redacted configuration, which has the shape of the original. */
function partsOf<C>(
  parts: Readonly<Record<string, (config: C) => unknown>>,
): PolicyKind["selection"] {
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [
      name,
      (shown: unknown) => isOfKind<C>(shown) ? part(shown) : undefined,
    ]),
  );
}

/** The schema of the kind has validated what a configuration has under its name. */
function isOfKind<C>(config: unknown): config is C {
  return config !== undefined;
}

/** Adds the kind to the object itself, so that no call goes through another. */
function running(kind: RunningKind, policy: Policy): RunningPolicy {
  return Object.assign(policy, { kind });
}

interface Code<T> {
  /** Throws before `load`. */
  get(): T;
  load(): Promise<void>;
}

function loadable<T extends object>(
  name: string,
  source: Loadable<T>,
): Code<T> {
  let code = typeof source === "function" ? undefined : source;
  return {
    get() {
      if (code !== undefined) return code;
      throw new TypeError(`Cannot use policies of kind "${name}": not loaded`);
    },
    async load() {
      if (typeof source === "function") code ??= await source();
    },
  };
}

/** The check of a kind whose schema expresses everything. */
export function noProblems(): readonly PolicyProblem[] {
  return [];
}
