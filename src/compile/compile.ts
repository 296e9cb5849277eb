import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { Clock } from "../base/clock.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import { runInSlices, runToEnd } from "../base/slices.ts";
import type { ServiceEndpoints, Snapshot } from "../snapshot/snapshot.ts";
import { describe, type Description } from "./describe/describe.ts";
import { loadPolicies } from "./load_policies.ts";
import { describeOutcomes, type Outcomes } from "./outcomes/outcomes.ts";
import { presentingBackends } from "./backends/client_certificates.ts";
import { compileEndpoints } from "./backends/service_endpoints.ts";
import {
  attach,
  begin,
  check,
  type CompileOptions,
  compileRules,
  findCredentials,
  resolve,
} from "./passes.ts";

export { type Description, emptyDescription } from "./describe/describe.ts";

/** A compiled configuration and its problems. */
export interface Compiled {
  /** Can be put into force unless a diagnostic is an error. Invalid policies in it deny every request. */
  readonly snapshot: Snapshot;
  readonly diagnostics: readonly ResourceDiagnostic[];
  /** The diagnostics that do not depend on other resources: problems of policies, filters and patterns. */
  readonly independentDiagnostics: readonly ResourceDiagnostic[];
  /** Endpoints of services at the time of compilation. */
  readonly endpoints: ServiceEndpoints;
  /** Conditions of gateways and routes. */
  readonly outcomes: Outcomes;
  /**
   * Describes the configuration for `/config_dump`, without secrets.
   * @param sensitiveHeaders Names of headers to redact besides the usual ones.
   */
  describe(sensitiveHeaders?: Iterable<string>): Promise<Description>;
}

/** Loads the code that the resources need, then compiles them while the process serves requests. */
export async function compileInSlices(
  resources: ResourceSet,
  { clock, ...options }: CompileOptions & { readonly clock: Clock },
): Promise<Compiled> {
  await loadPolicies(resources, options.policies);
  return await runInSlices(compileInSteps(resources, options), clock);
}

/**
 * Compiles without yielding.
 * @throws {TypeError} Unless `loadPolicies` has loaded the code that the resources need.
 */
export function compile(
  resources: ResourceSet,
  options: CompileOptions,
): Compiled {
  return runToEnd(compileInSteps(resources, options));
}

/**
 * Compiles in passes, each of which takes what the passes before it return; a step takes less than a millisecond.
 *
 * Pure but for `options.readFile`. Reports all errors at once.
 */
function* compileInSteps(
  resources: ResourceSet,
  options: CompileOptions,
): Generator<void, Compiled> {
  const inputs = begin(resources, options);
  const independentDiagnostics = yield* check(inputs);
  const resolved = yield* resolve(inputs);
  const sites = yield* attach(inputs, resolved);
  const rules = yield* compileRules(inputs, sites);
  const { diagnostics } = inputs.report;
  const { listeners, ports } = rules;
  const outcomes = yield* describeOutcomes(resources, {
    diagnostics,
    listeners,
  });
  const credentials = yield* findCredentials(inputs, rules);
  const { backends } = resolved;
  const { policies } = options;
  return {
    snapshot: {
      ports,
      backends: new Map([...backends, ...presentingBackends(listeners)]),
      credentials,
      identities: policies.identities,
    },
    diagnostics,
    independentDiagnostics,
    endpoints: compileEndpoints(resources.endpointSlices),
    outcomes,
    describe: (sensitiveHeaders = []) =>
      describe(
        { resources, policies, ports, listeners, backends },
        sensitiveHeaders,
      ),
  };
}
