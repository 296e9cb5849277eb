import {
  resourceKey,
  type ResourceSet,
} from "../api/resources/resource_set.ts";
import type { Clock } from "../base/clock.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import { isError } from "../config/diagnostics/located_diagnostic.ts";
import { runInSlices, runToEnd } from "../base/slices.ts";
import type {
  Backend,
  ServiceEndpoints,
  Snapshot,
} from "../snapshot/snapshot.ts";
import { describe, type Description } from "./describe/describe.ts";
import { describeOutcomes, type Outcomes } from "./outcomes/outcomes.ts";
import {
  presentingBackends,
  readClientCertificates,
} from "./backends/client_certificates.ts";
import { compileEndpoints } from "./backends/service_backends.ts";
import { type EgressPolicy, openEgress } from "../base/wire/egress_policy.ts";
import { noopLeases } from "../policy/noop_services.ts";
import type { PolicyRegistry } from "../policy/contract/policy_registry.ts";
import {
  namespacedName,
  type ReadFile,
  References,
} from "./resolve/references.ts";
import { attachPolicies } from "./attach/attach_policies.ts";
import {
  checkPatterns,
  loadPatternsOf,
  reportUnreachableMatches,
} from "./routes/route_checks.ts";
import { findDeniedHost } from "./backends/backend_egress.ts";
import { compileBackends } from "./backends/compile_backends.ts";
import { checkPolicies } from "./policies/check_policies.ts";
import { checkReferences } from "./backends/check_references.ts";
import { compileListeners } from "./listeners/compile_listeners.ts";
import {
  credentialNames,
  environmentNames,
  unite,
} from "./describe/credential_names.ts";
import type {
  CompiledListener,
  CompiledModel,
  EffectivePolicy,
} from "./policies/effective_policy.ts";
import { compilePorts } from "./listeners/compile_ports.ts";
import { type ListenerSite, listListeners } from "./attach/listener_sites.ts";
import { Compilations, type CompileParts } from "./compilations.ts";
import { Report } from "./memory/report.ts";
import { checkCallers, checkLlmCredentials } from "./routes/check_callers.ts";
import { checkWebUi } from "./routes/compile_web_ui.ts";
import { loadHashKeys } from "./backends/compile_balancing.ts";

export { type Description, emptyDescription } from "./describe/describe.ts";

/** A compiled configuration and its problems. */
export interface Compiled {
  /** Can be put into force unless a diagnostic is an error. Invalid policies in it deny every request. */
  readonly snapshot: Snapshot;
  readonly diagnostics: readonly ResourceDiagnostic[];
  /** The diagnostics that hold although resources, or parts of them, are missing because they are invalid. */
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
  const context = begin(resources, options);
  const ofParts = yield* check(resources, context);
  const backends = yield* compileBackends(resources, context);
  const clientCertificates = resolve(resources, backends, context);
  yield;
  const attached = yield* attach(resources, backends, context);
  context.attached.fill({ ...attached, backends, clientCertificates });
  const listeners = yield* compileRules(resources, attached.listeners, context);
  const ports = compilePorts(listeners, context);
  yield;
  const { policies, report: { diagnostics } } = context;
  const sources = { diagnostics, listeners };
  const outcomes = yield* describeOutcomes(resources, sources);
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
    endpoints: compileEndpoints(resources.endpointSlices),
    outcomes,
    describe: (sensitiveHeaders = []) => describe(model, sensitiveHeaders),
  };
}

/** Dependencies of compilation. */
interface CompileOptions {
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
  /** True if backends of a cluster may have programs that the gateway runs, as those of files may. */
  readonly clusterStdio?: boolean;
  /** True if backends of a cluster may have the gateway's own identities of clouds, as those of files may. */
  readonly clusterCloudIdentity?: boolean;
  /** True if the process has given up the permission to run programs. */
  readonly lacksPrograms?: boolean;
  /** True if users can log in at services behind backends. */
  readonly connectsUsers?: boolean;
  /** Seals persistent sessions. */
  readonly sessionSecret?: string | undefined;
  /** Wall-clock time in milliseconds, to find expired certificates; without it, none is. */
  readonly now?: number;
}

/** The dependencies of all passes. */
interface Context extends CompileOptions, CompileParts {
  readonly references: References;
  readonly report: Report;
  /** See `ResourceSet`. */
  readonly environment: readonly string[] | undefined;
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
  const readFile = readOnce(options.readFile);
  const references = new References(resources);
  const loopbackPorts = allowedLoopbackPorts(resources, options);
  const { egress = openEgress } = options;
  parts.inputs.fill({
    readFile,
    references,
    loopbackPorts,
    egress,
    programDenial: programDenial(resources, options),
    cloudDenial: cloudDenial(resources, options),
    connectsUsers: options.connectsUsers ?? false,
  });
  return {
    ...options,
    ...parts,
    ...{ readFile, references, report },
    ...{ environment, unusablePorts, separatesGateways, isolatesErrors },
  };
}

/** Checks what does not depend on other resources; returns the problems. */
function* check(
  resources: ResourceSet,
  context: Context,
): Generator<void, readonly ResourceDiagnostic[]> {
  yield* checkPolicies(resources, context);
  yield* checkPatterns(resources, context.report);
  return context.report.diagnostics;
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

/** Reads certificates, and checks what refers to backends. */
function resolve(
  resources: ResourceSet,
  backends: ReadonlyMap<string, Backend>,
  context: Context,
) {
  const clientCertificates = readClientCertificates(
    resources.gateways,
    context,
  );
  checkReferences(resources, { ...context, backends });
  return clientCertificates;
}

/** Attaches policies to their targets and listeners to their gateways. */
function* attach(
  resources: ResourceSet,
  backends: ReadonlyMap<string, Backend>,
  context: Context,
) {
  const policies = yield* attachPolicies(resources, context.report);
  const listeners = listListeners(resources, context);
  const invalidBackends = new Map(
    resources.gatewayBackends.map((backend) =>
      [namespacedName(backend), backend] as const
    ).filter(([key]) => !backends.has(key)).map(([key, backend]) => [
      key,
      findDeniedHost(backend, context.inputs)?.denial,
    ]),
  );
  const sites = byParent(resources, listeners);
  return { policies, listeners, invalidBackends, sites };
}

/** Compiles the routes of every listener. */
function* compileRules(
  resources: ResourceSet,
  sites: readonly ListenerSite[],
  context: Context,
): Generator<void, readonly CompiledListener[]> {
  const listeners = yield* compileListeners(resources, sites, context);
  checkWebUi(listeners, context.report);
  checkCallers(listeners, context.report);
  checkLlmCredentials(listeners, context.report);
  yield;
  yield* reportUnreachableMatches(listeners, context.report);
  return listeners;
}

/** Finds the header fields and query parameters that carry credentials. */
function* findCredentials(
  { resources, policies, listeners }: CompiledModel,
): Generator<void, Snapshot["credentials"]> {
  const fromEnvironment = environmentNames(resources, policies.schemas);
  yield;
  const fromPolicies = credentialNames(listeners.flatMap(policiesOf));
  const credentials = unite(fromEnvironment, fromPolicies);
  yield;
  return credentials;
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

function programDenial(
  { isolatesErrors = false }: ResourceSet,
  { clusterStdio = false, lacksPrograms = false }: CompileOptions,
): string | undefined {
  if (isolatesErrors && !clusterStdio) {
    return 'a backend of a cluster cannot run programs; to allow it, set "config.clusterStdio" of the gateway';
  }
  return lacksPrograms
    ? "the gateway has given up the permission to run programs, because no server needed it at its start: restart it"
    : undefined;
}

/** Authors of backends choose where tokens go, and could read them. */
function cloudDenial(
  { isolatesErrors = false }: ResourceSet,
  { clusterCloudIdentity = false }: CompileOptions,
): string | undefined {
  return isolatesErrors && !clusterCloudIdentity
    ? 'a backend of a cluster cannot have the identity of the gateway; to allow it, set "config.clusterCloudIdentity" of the gateway'
    : undefined;
}

function byParent(
  { gateways, listenerSets }: ResourceSet,
  sites: readonly ListenerSite[],
): ReadonlyMap<string, readonly ListenerSite[]> {
  const found = new Map<string, ListenerSite[]>(
    [...gateways, ...listenerSets].map((parent) => [resourceKey(parent), []]),
  );
  for (const site of sites) found.get(resourceKey(site.owner))?.push(site);
  return found;
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

/** Returns the policies of a listener and of its routes. */
function policiesOf(
  { effective, rules }: CompiledListener,
): readonly EffectivePolicy[] {
  return [...effective, ...rules.flatMap((rule) => rule.effective)];
}

/** Loads the code that `compile` needs for the policies, backends and regular expressions of `resources`. */
async function loadPolicies(
  { gatewayBackends, gatewayPolicies, httpRoutes }: Pick<
    ResourceSet,
    "gatewayBackends" | "gatewayPolicies" | "httpRoutes"
  >,
  policies: PolicyRegistry,
): Promise<void> {
  await loadPatternsOf({ httpRoutes });
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
