import { resourceKey } from "./api/resource_set.ts";
import type { Diagnostic as ResourceDiagnostic } from "./base/diagnostic.ts";
import { compile } from "./compile/compile.ts";
import type { ConfigurationSource } from "./config/configuration_source.ts";
import {
  type ConfigSource,
  type Diagnostic,
  formatDiagnostics,
} from "./config/diagnostic.ts";
import { loadConfig, type LoadedConfig } from "./config/load.ts";
import type { Environment } from "./config/substitute.ts";
import type { ApplyResult } from "./dataplane/data_plane.ts";

/** A configuration that was read and not yet applied. */
export interface Candidate {
  readonly sources: readonly ConfigSource[];
  readonly loaded: LoadedConfig;
  /** SHA-256 of the texts, hexadecimal. */
  readonly hash: string;
}

/** A configuration that cannot be started with; the message shows every diagnostic at its place. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";

  constructor(
    readonly diagnostics: readonly Diagnostic[],
    sources: readonly ConfigSource[],
  ) {
    super(formatDiagnostics(diagnostics, sources));
  }
}

/** Reads and checks a configuration. @throws {ConfigReadError} */
export async function loadCandidate(
  source: ConfigurationSource,
  environment: Environment = {},
): Promise<Candidate> {
  const sources = await source.read();
  const text = new TextEncoder().encode(JSON.stringify(sources));
  const digest = await crypto.subtle.digest("SHA-256", text);
  return {
    sources,
    loaded: loadConfig(sources, environment),
    hash: new Uint8Array(digest).toHex(),
  };
}

/**
 * Everything there is to say about a configuration, without applying it.
 * @throws {ConfigReadError} When it cannot be read.
 */
export async function validateConfiguration(
  source: ConfigurationSource,
  environment: Environment,
): Promise<{ diagnostics: readonly Diagnostic[]; text: string }> {
  const candidate = await loadCandidate(source, environment);
  const { loaded, sources } = candidate;
  const located = locateDiagnostics(candidate, {
    diagnostics: compileLoaded(loaded),
  });
  const diagnostics = [...loaded.diagnostics, ...located];
  return { diagnostics, text: formatDiagnostics(diagnostics, sources) };
}

/** What compiling has to say, once there is something to compile. */
function compileLoaded(
  { diagnostics, resources }: LoadedConfig,
): readonly ResourceDiagnostic[] {
  const isLoaded = diagnostics.every(({ severity }) => severity !== "error");
  return isLoaded
    ? compile(resources, { readFile: Deno.readTextFileSync }).diagnostics
    : [];
}

/** The data plane's diagnostics at their places in the files. */
export function locateDiagnostics(
  { loaded, sources }: Candidate,
  { diagnostics, reason }: Pick<ApplyResult, "diagnostics" | "reason">,
): Diagnostic[] {
  const located = diagnostics.map((diagnostic) => locate(loaded, diagnostic));
  if (reason === undefined) return located;
  const file = sources[0]?.name ?? "";
  return [
    ...located,
    { file, line: 1, column: 1, severity: "error", path: "", message: reason },
  ];
}

function locate(
  loaded: LoadedConfig,
  { severity, resource, ...problem }: ResourceDiagnostic,
): Diagnostic {
  const { kind, namespace, name } = resource;
  const key = resourceKey({ kind, metadata: { namespace, name } });
  const located = loaded.diagnose(key, { ...problem, at: "value" });
  return { ...located, severity };
}
