import { redactSettings } from "../../api/redact_configuration.ts";
import { mergeResourceSets } from "../../api/resources/resource_set.ts";
import { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { systemClock } from "../../base/clock.ts";
import { readFileText, readFileTextSync } from "../../base/regular_file.ts";
import { runInSlices } from "../../base/slices.ts";
import { type Compiled, compileInSlices } from "../../compile/compile.ts";
import type { Compilations } from "../../compile/compilations.ts";
import {
  type ConfigurationSource,
  isObjectSource,
} from "../../config/configuration_source.ts";
import {
  type ConfigText,
  type Diagnostic,
  formatDiagnostics,
  isError,
  sortDiagnostics,
} from "../../config/diagnostics/located_diagnostic.ts";
import {
  createFileSchemas,
  type FileSchemas,
} from "../../config/file_schema.ts";
import { loadInSteps } from "../../config/load.ts";
import type { LoadedConfig } from "../../config/loaded_config.ts";
import type { Environment } from "../../config/yaml/substitute.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import { builtInPolicies } from "../../policy/registry.ts";
import { type LibraryPolicy, registryWith } from "../library/library_policy.ts";
import { locateDiagnostics } from "./locate_diagnostics.ts";
import { checkDocuments } from "./openapi_documents.ts";
import { checkTelemetry } from "../../dataplane/telemetry/check_telemetry.ts";

export { clusterKeySchemas } from "../../policy/keys/cluster_keys.ts";

/** A configuration that was read but not applied. */
export interface Candidate {
  readonly policies: PolicyRegistry;
  readonly sources: readonly ConfigText[];
  readonly loaded: LoadedConfig;
  /** SHA-256 of the sources, hexadecimal. */
  readonly hash: string;
  /** SHA-256 of the sources and the files that they refer to, hexadecimal: equal when nothing has changed. */
  readonly fingerprint: string;
}

/** The configuration is invalid; the message lists all diagnostics with their lines. */
export class ConfigurationError extends Error {
  /** Always `ConfigurationError`. */
  override readonly name = "ConfigurationError";

  /** Formats the diagnostics with the lines of `sources` that they are about. */
  constructor(
    readonly diagnostics: readonly Diagnostic[],
    sources: readonly ConfigText[],
  ) {
    super(formatDiagnostics(diagnostics, sources));
  }
}

/** Dependencies of reading a configuration. */
export interface CandidateOptions {
  /** For `${NAME}` in the configuration; default none. */
  readonly environment?: Environment;
  /** Default those that are built in. */
  readonly policies?: PolicyRegistry;
  /** Rejects early once it aborts; default never. */
  readonly signal?: AbortSignal | undefined;
}

const schemas = new WeakMap<PolicyRegistry, FileSchemas>();

/** Returns the schemas of a configuration file that has these kinds of policies. */
export function schemasOf(
  policies: PolicyRegistry = builtInPolicies,
): FileSchemas {
  return schemas.getOrInsertComputed(
    policies,
    () => createFileSchemas(policies.schemas),
  );
}

/** Reads and checks a configuration. @throws {ConfigReadError} */
export async function loadCandidate(
  source: ConfigurationSource,
  { environment = {}, policies = builtInPolicies, signal }: CandidateOptions =
    {},
): Promise<Candidate> {
  const sources = await source.read();
  const fromTexts = await runInSlices(
    loadInSteps(sources, environment, schemasOf(policies)),
    systemClock,
    signal,
  );
  const objects = isObjectSource(source) ? source.objects() : undefined;
  const problems = await checkTelemetry(fromTexts.settings);
  const checked = problems.length === 0 ? fromTexts : {
    ...fromTexts,
    diagnostics: sortDiagnostics([
      ...fromTexts.diagnostics,
      ...problems.map(fromTexts.diagnoseSetting),
    ], sources),
  };
  const loaded = objects === undefined ? checked : {
    ...checked,
    resources: mergeResourceSets(checked.resources, objects.resources),
  };
  const hash = await sha256(
    JSON.stringify(
      objects === undefined ? sources : [...sources, objects.version],
    ),
  );
  const files = await Promise.all(loaded.files.map(readOrNothing));
  const fingerprint = await sha256(JSON.stringify([hash, ...files]));
  return { sources, policies, loaded, hash, fingerprint };
}

/** Returns `null` for an unreadable file; the compiler reports it. */
async function readOrNothing(path: string): Promise<string | null> {
  return await readFileText(path).catch(() => null);
}

async function sha256(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Options of `validateConfiguration`. */
export interface ValidationOptions {
  /** Turns warnings into errors. Default: false. */
  readonly strict?: boolean;
  /** Kinds of policies besides the built-in ones, from `createPolicy`. */
  readonly policies?: readonly LibraryPolicy[];
}

/**
 * Returns all diagnostics of a configuration without applying it.
 * @throws {ConfigReadError} When it cannot be read.
 */
export async function validateConfiguration(
  source: ConfigurationSource,
  environment: Environment,
  { strict = false, policies }: ValidationOptions = {},
): Promise<{ diagnostics: readonly Diagnostic[]; text: string }> {
  const candidate = await loadCandidate(source, {
    environment,
    policies: registryWith(policies),
  });
  const found = sortDiagnostics([
    ...await checkCandidate(candidate),
    ...await checkDocuments(candidate.loaded),
  ], candidate.sources);
  const diagnostics = strict
    ? found.map((each) => ({ ...each, severity: "error" as const }))
    : found;
  return {
    diagnostics,
    text: formatDiagnostics(diagnostics, candidate.sources),
  };
}

/** Returns all diagnostics that can be found without opening ports. */
export async function checkCandidate(
  candidate: Candidate,
): Promise<readonly Diagnostic[]> {
  return diagnosticsOf(candidate, await compileCandidate(candidate));
}

/**
 * Reads a configuration and describes it as `/config_dump` does, without secrets, as JSON.
 * @throws {ConfigReadError | ConfigurationError} When it cannot be read, or has an error.
 */
export async function describeConfiguration(
  source: ConfigurationSource,
  environment: Environment,
): Promise<unknown> {
  return await describeCandidate(await loadCandidate(source, { environment }));
}

/**
 * Describes a configuration as `/config_dump` does, without secrets, as JSON.
 * @param alsoSensitive Names of headers that are secret besides its own.
 * @throws {ConfigurationError} When it has an error.
 */
export async function describeCandidate(
  candidate: Candidate,
  alsoSensitive: readonly string[] = [],
): Promise<unknown> {
  const compiled = await compileCandidate(candidate);
  const diagnostics = diagnosticsOf(candidate, compiled);
  if (diagnostics.some(isError)) {
    throw new ConfigurationError(diagnostics, candidate.sources);
  }
  const { settings, resources } = candidate.loaded;
  const description = await compiled.descriptions.full([
    ...settings.sensitiveHeaders,
    ...alsoSensitive,
  ]);
  const config = redactSettings(settings, resources.environment);
  // JSON has no `undefined`.
  return JSON.parse(JSON.stringify({ ...description, config }));
}

/** Compiles a configuration. @param compilations With services for its policies; by default, they never run. */
export function compileCandidate(
  { loaded: { resources, settings, unread }, policies }: Candidate,
  compilations?: Compilations,
): Promise<Compiled> {
  return compileInSlices(resources, {
    policies,
    ...compilations !== undefined && { compilations },
    readFile: readFileTextSync,
    hasStore: settings.kv !== undefined || unread.settings.has("kv"),
    mayHaveBackend: unread.hasBackend,
    unreadPolicies: unread.policies,
    loopbackPorts: settings.loopbackPorts,
    clusterStdio: settings.clusterStdio,
    clusterCloudIdentity: settings.clusterCloudIdentity,
    egress: new EgressPolicy({ settings: settings.egress }),
    sessionSecret: settings.sessionSecret,
    connectsUsers: settings.connections !== undefined ||
      unread.settings.has("connections"),
    now: systemClock.now(),
    clock: systemClock,
  });
}

/** Returns the diagnostics of a compiled configuration with their locations. */
export function diagnosticsOf(
  candidate: Candidate,
  compiled: Compiled,
): readonly Diagnostic[] {
  const found = candidate.loaded.diagnostics.some(isError)
    ? compiled.independentDiagnostics
    : compiled.diagnostics;
  return locateDiagnostics(candidate, { diagnostics: found });
}
