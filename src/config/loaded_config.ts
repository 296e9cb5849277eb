import {
  type ResourceSet,
  resourceSetOf,
} from "../api/resources/resource_set.ts";
import type { Settings } from "../api/settings.ts";
import { formatPath, type Problem } from "../api/schema/validate.ts";
import {
  type ConfigText,
  type Diagnostic,
  sortDiagnostics,
} from "./diagnostics/located_diagnostic.ts";
import { diagnose, type Placed, placedKey } from "./placed.ts";

/** The content of a configuration and its problems. */
export interface LoadedConfig {
  /** The valid resources. Apply them only when no diagnostic is an error. */
  readonly resources: ResourceSet;
  /** The `config` section with defaults; all defaults when it is absent or invalid. */
  readonly settings: Settings;
  /** Sorted by file and position. */
  readonly diagnostics: readonly Diagnostic[];
  /** Files that the configuration refers to, such as certificates, relative to the working directory. */
  readonly files: readonly string[];
  /** Converts a problem that was found later to a diagnostic; `key` is the `resourceKey` of its resource. */
  diagnose(key: string, problem: Problem): Diagnostic;
}

/** Results of the loader. */
interface LoaderResult {
  readonly placed: readonly Placed[];
  readonly settings: Settings;
  readonly sources: readonly ConfigText[];
  /** Unsorted. */
  readonly diagnostics: readonly Diagnostic[];
  readonly files: readonly string[];
  /** See `ResourceSet.environment`. */
  readonly environment: readonly string[];
}

/** Assembles the results of the loader and keeps the source positions of resources, in steps. */
export function* createLoadedConfig(
  { placed, settings, sources, diagnostics, files, environment }: LoaderResult,
): Generator<void, LoadedConfig> {
  const byKey = new Map(placed.map((item) => [placedKey(item), item]));
  yield;
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
