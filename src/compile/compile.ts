import {
  resourceKey,
  type ResourceSet,
} from "../api/resources/resource_set.ts";
import type { Settings } from "../api/settings.ts";
import type { Clock } from "../base/clock.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import { type EgressPolicy, openEgress } from "../base/wire/egress_policy.ts";
import { runInSlices, runToEnd } from "../base/slices.ts";
import { noopLeases } from "../policy/policy_services.ts";
import type { PolicyRegistry } from "../policy/policy_registry.ts";
import type { ServiceEndpoints, Snapshot } from "../snapshot/snapshot.ts";
import { namespacedName } from "./resolve/precedence.ts";
import { attachPolicies } from "./attach/attach_policies.ts";
import { reportUnreachableMatches } from "./routes/unreachable_matches.ts";
import {
  presentingBackends,
  readClientCertificates,
} from "./backends/client_certificates.ts";
import { checkPatterns } from "./routes/check_patterns.ts";
import { findDeniedHost } from "./backends/backend_egress.ts";
import { compileBackends } from "./backends/compile_backends.ts";
import type { ReadFile } from "./resolve/certificates.ts";
import { checkPolicies } from "./policies/check_policies.ts";
import { checkReferences } from "./backends/check_references.ts";
import { compileListeners } from "./listeners/compile_listeners.ts";
import { credentialNames, unite } from "./describe/credential_names.ts";
import { describe, type Description } from "./describe/describe.ts";
import type { CompiledListener } from "./policies/compiled_model.ts";
import type { EffectivePolicy } from "./policies/effective_policy.ts";
import { environmentNames } from "./describe/environment_names.ts";
import { loadPolicies } from "./load_policies.ts";
import { compilePorts } from "./listeners/compile_ports.ts";
import { type ListenerSite, listListeners } from "./attach/listener_sites.ts";
import { Compilations } from "./compilations.ts";
import { describeOutcomes, type Outcomes } from "./outcomes/outcomes.ts";
import { References } from "./resolve/reference_grants.ts";
import { Report } from "./memory/report.ts";
import { compileEndpoints } from "./backends/service_endpoints.ts";
import { checkWebUi } from "./routes/compile_web_ui.ts";

export { type Description, emptyDescription } from "./describe/describe.ts";

/** Dependencies of compilation. */
export interface CompileOptions {
  /** The kinds of policies; `loadPolicies` loads those that the resources have. */
  readonly policies: PolicyRegistry;
  /** Reads the files that resources name; throws when it cannot. */
  readonly readFile: ReadFile;
  /** The compilations before; with them, only what depends on a change is computed. Omitted for checks. */
  readonly compilations?: Compilations;
  /** The KV store of the process; omitted when it has none. */
  readonly kv?: Settings["kv"];
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
 * Attaches routes and policies, resolves references and decides every precedence; a step takes less than a millisecond.
 *
 * Pure but for `options.readFile`. Reports all errors at once.
 */
function* compileInSteps(
  resources: ResourceSet,
  options: CompileOptions,
): Generator<void, Compiled> {
  const { policies } = options;
  const report = new Report();
  const readFile = readOnce(options.readFile);
  const { compilations = new Compilations(noopLeases()) } = options;
  const parts = compilations.begin(report, resources.environment);
  const { lookups } = parts;
  const references = new References(resources);
  const loopbackPorts = allowedLoopbackPorts(resources, options);
  const { egress = openEgress } = options;
  lookups.use({ readFile, references, loopbackPorts, egress });
  yield* checkPolicies(resources, { policies, report, ...parts });
  yield* checkPatterns(resources, report);
  const independentDiagnostics = report.diagnostics;
  const backends = yield* compileBackends(resources, {
    references,
    lookups,
    report,
    memory: parts.backends,
  });
  const clientCertificates = readClientCertificates(resources.gateways, {
    lookups,
    report,
    memory: parts.certificates,
  });
  const { kv } = options;
  checkReferences(resources, { policies, backends, lookups, kv, report });
  yield;
  const attachments = yield* attachPolicies(resources, report);
  const sites = listListeners(resources, { references, report });
  const invalidBackends = new Map(
    resources.gatewayBackends.filter((backend) =>
      !backends.has(namespacedName(backend))
    ).map((backend) => [
      namespacedName(backend),
      findDeniedHost(backend, lookups)?.denial,
    ]),
  );
  lookups.use({
    backends,
    invalidBackends,
    clientCertificates,
    attachments,
    sites: byParent(resources, sites),
  });
  const listeners = yield* compileListeners(resources, sites, {
    policies,
    report,
    environment: resources.environment,
    sessionSecret: options.sessionSecret,
    ...parts,
  });
  checkWebUi(listeners, report);
  yield;
  yield* reportUnreachableMatches(listeners, report);
  const ports = compilePorts(listeners, {
    ...options,
    readFile,
    lookups,
    report,
    unusablePorts: resources.unusablePorts ?? [],
    separatesGateways: resources.separatesGateways ?? false,
  });
  yield;
  const outcomes = yield* describeOutcomes(resources, {
    diagnostics: report.diagnostics,
    listeners,
  });
  const fromEnvironment = environmentNames(resources, policies.schemas);
  yield;
  const credentials = unite(
    fromEnvironment,
    credentialNames(listeners.flatMap(policiesOf)),
  );
  yield;
  return {
    snapshot: {
      ports,
      backends: new Map([...backends, ...presentingBackends(listeners)]),
      credentials,
      identities: policies.identities,
    },
    diagnostics: report.diagnostics,
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
