import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { Clock } from "../base/clock.ts";
import { type EgressPolicy, openEgress } from "../base/wire/egress_policy.ts";
import { noopLeases } from "../policy/noop_services.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import { isError } from "../config/diagnostics/located_diagnostic.ts";
import { runInSlices, runToEnd } from "../base/slices.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import {
  ConfigurationDescriptions,
  findCredentials,
} from "./describe/configuration_descriptions.ts";
import { describeOutcomes, type Outcomes } from "./outcomes/outcomes.ts";
import type { PolicyRegistry } from "../policy/contract/policy_registry.ts";
import { attachPolicies } from "./attach/attach_policies.ts";
import {
  compileTlsPolicies,
  presentingBackends,
  readClientCertificates,
} from "./backends/backend_tls.ts";
import { compileBackends } from "./backends/compile_backends.ts";
import { checkPolicies, checkReferences } from "./policies/check_policies.ts";
import { compileListeners } from "./listeners/compile_listeners.ts";
import { compilePorts } from "./listeners/compile_ports.ts";
import { byParent, listListeners } from "./attach/listener_sites.ts";
import { loadPatternsOf } from "./routes/route_rules.ts";
import { checkRules } from "./routes/check_rules.ts";
import { Compilations, type CompileParts } from "./compilations.ts";
import { Report } from "./memory/report.ts";
import {
  type BackendSettings,
  type ReadFile,
  References,
} from "./resolve/references.ts";
import { loadHashKeys } from "./backends/compile_balancing.ts";

/** Dependencies of compilation. */
interface CompileOptions extends BackendSettings {
  /** The kinds of policies; `loadPolicies` loads those that the resources have. */
  readonly policies: PolicyRegistry;
  /** Reads the files that resources name; throws when it cannot. */
  readonly readFile: ReadFile;
  /** The compilations before; with them, only what depends on a change is computed. Omitted for checks. */
  readonly compilations?: Compilations;
  /** True if the process has a KV store. */
  readonly hasStore?: boolean;
  /** Reports whether a backend of that name may be missing because it is invalid; omitted when none is. */
  readonly mayHaveBackend?: (name: string) => boolean;
  /** True if a policy may be missing because it is invalid. */
  readonly unreadPolicies?: boolean;
  /** Ports on the loopback interface that backends of a cluster may have, unless a listener has them. */
  readonly loopbackPorts?: readonly number[];
  /** Decides which hosts backends may have; omitted to allow all. */
  readonly egress?: EgressPolicy;
  /** Seals persistent sessions. */
  readonly sessionSecret?: string | undefined;
  /** Wall-clock time in milliseconds, to find expired certificates; without it, none is. */
  readonly now?: number;
}

/** A compiled configuration and its problems. */
export interface Compiled {
  /** Can be put into force unless a diagnostic is an error. Invalid policies in it deny every request. */
  readonly snapshot: Snapshot;
  readonly diagnostics: readonly ResourceDiagnostic[];
  /** The diagnostics that hold although resources, or parts of them, are missing because they are invalid. */
  readonly independentDiagnostics: readonly ResourceDiagnostic[];
  /** Conditions of gateways and routes. */
  readonly outcomes: Outcomes;
  readonly descriptions: ConfigurationDescriptions;
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
  const context = begin(resources, options);
  yield* checkPolicies(resources, context);
  const ofParts = context.report.diagnostics;
  const resolved = yield* resolve(resources, context);
  yield;
  const attached = yield* attach(resources, context);
  context.attached.fill({ ...resolved, ...attached });
  const listeners = yield* compileListeners(
    resources,
    attached.listeners,
    context,
  );
  yield* checkRules(listeners, context.report);
  const ports = compilePorts(listeners, context);
  yield;
  const { policies, report: { diagnostics } } = context;
  const sources = { diagnostics, listeners };
  const outcomes = yield* describeOutcomes(resources, sources);
  const { backends } = resolved;
  const model = { resources, policies, ports, listeners, backends };
  return {
    snapshot: {
      ports,
      backends: new Map([...backends, ...presentingBackends(listeners)]),
      credentials: yield* findCredentials(model),
      identities: policies.identities,
    },
    diagnostics,
    independentDiagnostics: [
      ...ofParts,
      ...diagnostics.slice(ofParts.length).filter((each) =>
        isIndependent(each, options)
      ),
    ],
    outcomes,
    descriptions: new ConfigurationDescriptions(model, context.redactionFor),
  };
}

/** The dependencies of all passes. */
interface Context extends Omit<CompileOptions, "readFile">, CompileParts {
  readonly references: References;
  readonly report: Report;
  /** See `ResourceSet`. */
  readonly unusablePorts: NonNullable<ResourceSet["unusablePorts"]>;
  readonly separatesGateways: boolean;
  readonly isolatesErrors: boolean;
}

/** Begins a compilation with the memory of the ones before. */
function begin(resources: ResourceSet, options: CompileOptions): Context {
  const { compilations = new Compilations(noopLeases()) } = options;
  const { environment, unusablePorts = [] } = resources;
  const { separatesGateways = false, isolatesErrors = false } = resources;
  const report = new Report();
  const parts = compilations.begin(report, environment);
  const references = new References(resources);
  parts.inputs.fill({
    ...options,
    egress: options.egress ?? openEgress,
    loopbackPorts: allowedLoopbackPorts(resources, options),
    readFile: readOnce(options.readFile),
    isolatesErrors,
    references,
  });
  return {
    ...options,
    ...parts,
    references,
    report,
    ...{ unusablePorts, separatesGateways, isolatesErrors },
  };
}

/** Reports whether a problem is not a consequence of resources that are missing. */
function isIndependent(
  diagnostic: ResourceDiagnostic,
  { unreadPolicies = false }: CompileOptions,
): boolean {
  const { path, resource: { kind }, needsPolicy = false } = diagnostic;
  if (needsPolicy) return !unreadPolicies;
  // Secrets are other resources. An error of a whole listener is a conflict, which the loader has reported.
  return isError(diagnostic) && !path.includes("secretRef") &&
    (kind !== "Gateway" || path.length > 3);
}

/** Compiles backends and client certificates, and checks what refers to backends. */
function* resolve(resources: ResourceSet, context: Context) {
  const tls = yield* compileTlsPolicies(resources, context);
  const compiled = yield* compileBackends(resources, tls, context);
  const clientCertificates = readClientCertificates(resources, context);
  checkReferences(resources, { ...context, ...compiled });
  return { ...compiled, clientCertificates };
}

/** Attaches policies to their targets and listeners to their gateways. */
function* attach(resources: ResourceSet, context: Context) {
  const policies = yield* attachPolicies(resources, context.report);
  const listeners = listListeners(resources, context);
  return { policies, listeners, sites: byParent(resources, listeners) };
}

/** Loads the code that `compile` needs for the policies, backends and regular expressions of `resources`. */
async function loadPolicies(
  { gatewayBackends, gatewayPolicies, httpRoutes }: ResourceSet,
  policies: PolicyRegistry,
): Promise<void> {
  await loadPatternsOf(httpRoutes);
  await loadHashKeys(gatewayBackends);
  const used = new Set(
    gatewayPolicies.flatMap(({ spec: { traffic = {}, backend = {} } }) => [
      ...Object.keys(traffic),
      ...Object.keys(backend),
    ]),
  );
  for (const kind of policies.kinds) {
    if (used.has(kind.name)) await kind.load();
  }
}

/** Leaves out the ports of listeners: a backend there would reach the gateway as a peer of its own machine. */
function allowedLoopbackPorts(
  { gateways, listenerSets }: ResourceSet,
  { loopbackPorts = [] }: CompileOptions,
): ReadonlySet<number> {
  const allowed = new Set(loopbackPorts);
  if (allowed.size === 0) return allowed;
  for (const { spec } of [...gateways, ...listenerSets]) {
    for (const { port } of spec.listeners) allowed.delete(port);
  }
  return allowed;
}

/** Reads each file once, so that a policy is created from the same content that was checked. */
function readOnce(readFile: ReadFile): ReadFile {
  const results = new Map<string, () => string>();
  const read = (path: string) => {
    try {
      const text = readFile(path);
      return () => text;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  };
  return (path) => results.getOrInsertComputed(path, read)();
}
