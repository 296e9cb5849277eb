import {
  resourceKey,
  type ResourceSet,
} from "../api/resources/resource_set.ts";
import type { Settings } from "../api/settings.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import { type EgressPolicy, openEgress } from "../base/wire/egress_policy.ts";
import { noopLeases } from "../policy/noop_services.ts";
import type { PolicyRegistry } from "../policy/contract/policy_registry.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { namespacedName } from "./resolve/precedence.ts";
import { attachPolicies } from "./attach/attach_policies.ts";
import { reportUnreachableMatches } from "./routes/unreachable_matches.ts";
import { readClientCertificates } from "./backends/client_certificates.ts";
import { checkPatterns } from "./routes/check_patterns.ts";
import { findDeniedHost } from "./backends/backend_egress.ts";
import { compileBackends } from "./backends/compile_backends.ts";
import type { ReadFile } from "./resolve/certificates.ts";
import { checkPolicies } from "./policies/check_policies.ts";
import { checkReferences } from "./backends/check_references.ts";
import { compileListeners } from "./listeners/compile_listeners.ts";
import { credentialNames, unite } from "./describe/credential_names.ts";
import type { CompiledListener } from "./policies/compiled_model.ts";
import type { EffectivePolicy } from "./policies/effective_policy.ts";
import { environmentNames } from "./describe/environment_names.ts";
import { compilePorts } from "./listeners/compile_ports.ts";
import { type ListenerSite, listListeners } from "./attach/listener_sites.ts";
import type { AttachedSources } from "./attach/lookups.ts";
import { Compilations, type CompileParts } from "./compilations.ts";
import { References } from "./resolve/reference_grants.ts";
import { Report } from "./memory/report.ts";
import { checkWebUi } from "./routes/compile_web_ui.ts";

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

/** The input of every pass: resources, and what remembers and reports. */
interface Inputs {
  readonly resources: ResourceSet;
  readonly options: CompileOptions;
  readonly readFile: ReadFile;
  readonly references: References;
  readonly report: Report;
  readonly parts: CompileParts;
}

/** The output of `resolve`. */
interface Resolved {
  readonly backends: AttachedSources["backends"];
  readonly clientCertificates: AttachedSources["clientCertificates"];
}

/** The output of `compileRules`. */
interface Rules {
  readonly listeners: readonly CompiledListener[];
  readonly ports: Snapshot["ports"];
}

/** Begins a compilation with the memory of the ones before. */
export function begin(resources: ResourceSet, options: CompileOptions): Inputs {
  const { compilations = new Compilations(noopLeases()) } = options;
  const report = new Report();
  const parts = compilations.begin(report, resources.environment);
  const readFile = readOnce(options.readFile);
  const references = new References(resources);
  const loopbackPorts = allowedLoopbackPorts(resources, options);
  const { egress = openEgress } = options;
  parts.lookups.begin({ readFile, references, loopbackPorts, egress });
  return { resources, options, readFile, references, report, parts };
}

/** Checks what does not depend on other resources; returns the problems. */
export function* check(
  { resources, options: { policies }, report, parts }: Inputs,
): Generator<void, readonly ResourceDiagnostic[]> {
  yield* checkPolicies(resources, { policies, report, ...parts });
  yield* checkPatterns(resources, report);
  return report.diagnostics;
}

/** Compiles backends and certificates, and checks what refers to them. */
export function* resolve(
  { resources, options, references, report, parts }: Inputs,
): Generator<void, Resolved> {
  const { lookups } = parts;
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
  const { policies, kv } = options;
  checkReferences(resources, { policies, backends, lookups, kv, report });
  yield;
  return { backends, clientCertificates };
}

/** Attaches policies to their targets and listeners to their gateways; `lookups` finds them from then on. */
export function* attach(
  { resources, references, report, parts: { lookups } }: Inputs,
  { backends, clientCertificates }: Resolved,
): Generator<void, readonly ListenerSite[]> {
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
  lookups.attach({
    backends,
    invalidBackends,
    clientCertificates,
    attachments,
    sites: byParent(resources, sites),
  });
  return sites;
}

/** Compiles the routes of every listener, and the ports that the listeners share. */
export function* compileRules(
  { resources, options, readFile, report, parts }: Inputs,
  sites: readonly ListenerSite[],
): Generator<void, Rules> {
  const listeners = yield* compileListeners(resources, sites, {
    policies: options.policies,
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
    lookups: parts.lookups,
    report,
    unusablePorts: resources.unusablePorts ?? [],
    separatesGateways: resources.separatesGateways ?? false,
  });
  yield;
  return { listeners, ports };
}

/** Finds the header fields and query parameters that carry credentials. */
export function* findCredentials(
  { resources, options }: Inputs,
  { listeners }: Rules,
): Generator<void, Snapshot["credentials"]> {
  const { schemas } = options.policies;
  const fromEnvironment = environmentNames(resources, schemas);
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
