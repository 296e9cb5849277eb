import {
  emptyResourceSet,
  type Resource,
  type ResourceSet,
} from "../api/resources/resource_set.ts";
import type { Settings } from "../api/settings.ts";
import { formatPath, type Problem } from "../api/schema/validate.ts";
import {
  type ConfigText,
  type Diagnostic,
  sortDiagnostics,
} from "./diagnostics/located_diagnostic.ts";
import { diagnose, type Placed, placedKey } from "./placed.ts";

/** What a configuration says, and everything that is wrong with it. */
export interface LoadedConfig {
  /** The valid resources. To be applied only when no diagnostic is an error. */
  readonly resources: ResourceSet;
  /** The `config` section with defaults filled in; all defaults when it is absent or not valid. */
  readonly settings: Settings;
  /** In the order of files and lines. */
  readonly diagnostics: readonly Diagnostic[];
  /** Files that the configuration refers to, such as certificates, relative to the working folder. */
  readonly files: readonly string[];
  /** The diagnostic of a problem found later in the resource with this key (see `resourceKey`). */
  diagnose(key: string, problem: Problem): Diagnostic;
}

/** What a configuration was found to hold. */
interface Findings {
  readonly placed: readonly Placed[];
  readonly settings: Settings;
  readonly sources: readonly ConfigText[];
  /** In any order. */
  readonly diagnostics: readonly Diagnostic[];
  readonly files: readonly string[];
  /** As `ResourceSet.environment`. */
  readonly environment: readonly string[];
}

/** Puts in order what was found, and keeps where it was written. */
export function createLoadedConfig(
  { placed, settings, sources, diagnostics, files, environment }: Findings,
): LoadedConfig {
  const byKey = new Map(placed.map((item) => [placedKey(item), item]));
  const start = { file: sources[0]?.name ?? "", line: 1, column: 1 };
  return {
    resources: {
      ...resourceSetOf(placed.map(({ resource }) => resource)),
      ...(environment.length > 0 && { environment }),
    },
    settings,
    diagnostics: sortDiagnostics(diagnostics, sources),
    files,
    diagnose(key, problem) {
      const item = byKey.get(key);
      if (item !== undefined) return diagnose(item, problem);
      const { message, path } = problem;
      return {
        ...start,
        severity: "error",
        path: `${key}: ${formatPath(path)}`,
        message,
      };
    },
  };
}

function resourceSetOf(resources: readonly Resource[]): ResourceSet {
  return {
    ...emptyResourceSet,
    gateways: resources.filter((resource) => resource.kind === "Gateway"),
    httpRoutes: resources.filter((resource) => resource.kind === "HTTPRoute"),
    gatewayPolicies: resources.filter((resource) =>
      resource.kind === "GatewayPolicy"
    ),
    gatewayBackends: resources.filter((resource) =>
      resource.kind === "GatewayBackend"
    ),
    backendTlsPolicies: resources.filter((resource) =>
      resource.kind === "BackendTLSPolicy"
    ),
  };
}
