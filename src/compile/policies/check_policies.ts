import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type { CompileMemory, ResultTable } from "../memory/compile_memory.ts";
import {
  type CheckOptions,
  type PolicyKind,
  type PolicyProblem,
  type References,
  type SecretAccess,
  UnusableReferenceError,
} from "../../policy/contract/policy_kind.ts";
import type { BackendFilter, HttpFilter } from "../../api/rules/http_filter.ts";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import type { PolicyBackendRef } from "../../api/resources/policy_references.ts";
import { POLICY_API_GROUP } from "../../api/schema/group.ts";
import { describeError } from "../../base/errors.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { Named, Report } from "../memory/report.ts";
import {
  type Inputs,
  mayRefer,
  readSecretValue,
} from "../resolve/references.ts";

/** Checks the policies of a configuration, each one once, however many routes it is attached to. */
export class PolicyChecks {
  readonly options: CheckOptions;
  /** By configuration of one kind, such as the object in `traffic.cors`. */
  readonly #problems: ResultTable<object, readonly PolicyProblem[]>;

  constructor(options: CheckOptions, memory: CompileMemory) {
    this.options = options;
    this.#problems = memory.table();
  }

  /** Returns the problems of what `traffic` configures of a kind. */
  problemsOf(
    kind: PolicyKind,
    traffic: TrafficPolicy,
  ): readonly PolicyProblem[] {
    const config = traffic[kind.name];
    if (typeof config !== "object" || config === null) return [];
    return this.#problems.recall(
      config,
      () => kind.check(traffic, this.options),
    );
  }
}

interface CheckContext {
  readonly policies: PolicyRegistry;
  readonly checks: PolicyChecks;
  readonly checkedRoutes: ResultTable<HttpRoute, true>;
  readonly report: Report;
}

/** A resource and the place in it where a policy or filter is configured. */
interface Site {
  readonly resource: Named;
  readonly path: DiagnosticPath;
}

/** Reports the problems of policies and filters, attached or not. */
export function* checkPolicies(
  resources: ResourceSet,
  context: CheckContext,
): Generator<void> {
  const { policies } = context;
  for (const policy of resources.gatewayPolicies) {
    const { traffic = {}, backend = {}, phase } = policy.spec;
    const kinds = policies.running(
      phase === "PreRouting" ? "gateway" : "route",
    );
    const site = (field: string) => ({
      resource: policy,
      path: ["spec", field],
    });
    check(site("traffic"), traffic, kinds, context);
    check(site("backend"), backend, policies.running("backend"), context);
    yield;
  }
  for (const route of resources.httpRoutes) {
    context.checkedRoutes.recall(route, () => checkRoute(route, context));
    yield;
  }
}

function checkRoute(route: HttpRoute, context: CheckContext): true {
  for (const [index, rule] of route.spec.rules.entries()) {
    const path = ["spec", "rules", index];
    checkFilters({ resource: route, path }, rule.filters, context);
    for (const [number, { filters }] of (rule.backendRefs ?? []).entries()) {
      const at = [...path, "backendRefs", number];
      checkFilters({ resource: route, path: at }, filters, context);
    }
  }
  return true;
}

/** Returns the policies that filters configure; the field of a filter has the name of the kind of policy that does the same. */
export function trafficOfFilter(
  { type: _, ...traffic }: HttpFilter | BackendFilter,
): TrafficPolicy {
  return traffic;
}

function checkFilters(
  { resource, path }: Site,
  filters: readonly (HttpFilter | BackendFilter)[] | undefined,
  context: CheckContext,
): void {
  for (const [index, filter] of (filters ?? []).entries()) {
    const site = { resource, path: [...path, "filters", index] };
    check(site, trafficOfFilter(filter), context.policies.kinds, context);
  }
}

function check(
  { resource, path }: Site,
  traffic: TrafficPolicy,
  kinds: readonly PolicyKind[],
  { checks, report }: CheckContext,
): void {
  for (const kind of kinds) {
    const at = { resource, path: [...path, kind.name] };
    for (const problem of checks.problemsOf(kind, traffic)) {
      // It depends on the other policies of a route.
      if (problem.unlessVerified !== undefined) continue;
      // A message with a position in a string may quote the string.
      const message = problem.offset === undefined
        ? problem.message
        : checks.options.hide(problem.message);
      reportProblem(at, { ...problem, message }, report);
    }
  }
}

/** Reports a problem of the policy at `site`. */
function reportProblem(
  { resource, path }: Site,
  { path: within, message, suggestion, offset, isWarning }: PolicyProblem,
  report: Report,
): void {
  const found = { path: [...path, ...within], message, suggestion, offset };
  if (isWarning) report.warning(resource, found);
  else report.error(resource, found);
}

/** Dependencies of resolving the references of policies. */
export interface ReferenceContext {
  readonly policies: PolicyRegistry;
  readonly backends: ReadonlyMap<string, Backend>;
  readonly inputs: Inputs;
  readonly hasStore?: boolean;
  readonly mayHaveBackend?: (name: string) => boolean;
  readonly report: Report;
}

/** Reports references of policies to backends and stores that do not exist or cannot be used, whether the policies are attached or not. */
export function checkReferences(
  { gatewayPolicies }: ResourceSet,
  context: ReferenceContext,
): void {
  for (const policy of gatewayPolicies) {
    const { traffic = {} } = policy.spec;
    const references = referencesFrom(policy.metadata.namespace, context);
    for (const kind of context.policies.kinds) {
      const path = ["spec", "traffic", kind.name];
      for (const problem of kind.checkReferences(traffic, references)) {
        if (problem.isConsequence) continue;
        reportProblem({ resource: policy, path }, problem, context.report);
      }
    }
  }
}

function referencesFrom(
  namespace: string,
  { backends, inputs, report, ...options }: ReferenceContext,
): References {
  const { hasStore = false, mayHaveBackend = () => false } = options;
  const keyOf = (ref: PolicyBackendRef) =>
    `${ref.namespace ?? namespace}/${ref.name}`;
  const readSecret = secretsFor(namespace, inputs);
  const isAllowed = (ref: PolicyBackendRef) => mayCall(namespace, ref, inputs);
  return {
    hasStore,
    denialOf: (target) => inputs.read(({ egress }) => egress.denialOf(target)),
    readSecret,
    backend(ref) {
      const backend = backends.get(keyOf(ref));
      if (backend === undefined || !isAllowed(ref)) return undefined;
      const { key, port, protocol, tls } = backend;
      return { key, port, protocol, hasTls: tls !== undefined };
    },
    missing: (ref, path) =>
      isAllowed(ref)
        ? {
          path: [...path, "name"],
          message: `Cannot find backend "${keyOf(ref)}"`,
          suggestion: report.suggest(
            ref.name,
            () => [...backends.values()].map(({ name }) => name),
          ),
          ...(mayHaveBackend(ref.name) && { isConsequence: true }),
        }
        : {
          path: [...path, "namespace"],
          message: `Cannot refer to backend "${
            keyOf(ref)
          }": no ReferenceGrant of "${ref.namespace}" allows it`,
        },
  };
}

/** Reports whether policies of a namespace may call a backend themselves: one of another needs a `ReferenceGrant` there. */
export function mayCall(
  own: string,
  { group, kind, name, namespace = own }: PolicyBackendRef,
  inputs: Inputs,
): boolean {
  const to = { group, kind, namespace, name };
  return mayRefer(referrerOf(own), to, inputs);
}

function referrerOf(namespace: string) {
  return { group: POLICY_API_GROUP, kind: "GatewayPolicy", namespace };
}

/** Returns access to Secrets for policies of a namespace. */
export function secretsFor(
  namespace: string,
  inputs: Inputs,
): SecretAccess["readSecret"] {
  const from = referrerOf(namespace);
  return (ref, entry) => {
    try {
      return readSecretValue(from, { ...ref, entry }, inputs);
    } catch (error) {
      throw new UnusableReferenceError(describeError(error), { cause: error });
    }
  };
}
