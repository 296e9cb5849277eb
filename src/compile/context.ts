import type { ResourceSet } from "../api/resources/resource_set.ts";
import { type EgressPolicy, openEgress } from "../base/wire/egress_policy.ts";
import { noopLeases } from "../policy/noop_services.ts";
import type { PolicyRegistry } from "../policy/contract/policy_registry.ts";
import { Compilations, type CompileParts } from "./compilations.ts";
import { Report } from "./memory/report.ts";
import { type ReadFile, References } from "./resolve/references.ts";

/** Dependencies of compilation. */
export interface CompileOptions {
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
export interface Context
  extends Omit<CompileOptions, "readFile">, CompileParts {
  readonly references: References;
  readonly report: Report;
  /** See `ResourceSet`. */
  readonly unusablePorts: NonNullable<ResourceSet["unusablePorts"]>;
  readonly separatesGateways: boolean;
  readonly isolatesErrors: boolean;
}

/** Begins a compilation with the memory of the ones before. */
export function begin(
  resources: ResourceSet,
  options: CompileOptions,
): Context {
  const { compilations = new Compilations(noopLeases()) } = options;
  const { environment, unusablePorts = [] } = resources;
  const { separatesGateways = false, isolatesErrors = false } = resources;
  const report = new Report();
  const parts = compilations.begin(report, environment);
  const { egress = openEgress } = options;
  const allowed = {
    loopbackPorts: allowedLoopbackPorts(resources, options),
    egress,
    programDenial: programDenial(resources, options),
    cloudDenial: cloudDenial(resources, options),
    connectsUsers: options.connectsUsers ?? false,
  };
  const references = new References(resources);
  const readFile = readOnce(options.readFile);
  parts.inputs.fill({ ...allowed, readFile, references });
  return {
    ...options,
    ...parts,
    ...{ references, report },
    ...{ unusablePorts, separatesGateways, isolatesErrors },
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
