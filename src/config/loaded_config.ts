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
import type { ConfigDocument } from "./yaml/config_document.ts";
import {
  diagnose,
  diagnoseAt,
  type Placed,
  placedKey,
} from "./short_form/placed.ts";
import type { Unread } from "./short_form/unread.ts";
import type { FileSchemas } from "./file_schema.ts";
import {
  type ParsedText,
  privateScalarsOf,
  type SourceScalars,
} from "./source_secrets.ts";

/** The content of a configuration and its problems. */
export interface LoadedConfig {
  /** The resources; of invalid ones, the valid parts. Apply them only when no diagnostic is an error. */
  readonly resources: ResourceSet;
  /** The `config` section with defaults, also for what is invalid. */
  readonly settings: Settings;
  readonly unread: Unread;
  /** Sorted by file and position. */
  readonly diagnostics: readonly Diagnostic[];
  /** Files that the configuration refers to, such as certificates, relative to the working directory. */
  readonly files: readonly string[];
  /** Converts a problem that was found later to a diagnostic; `key` is the `resourceKey` of its resource. */
  diagnose(key: string, problem: Problem): Diagnostic;
  /** Does the same for a setting; the path begins below `config`. */
  diagnoseSetting(problem: Problem): Diagnostic;
  /** Finds the secrets of each source in steps: the private scalars that must not be shown. */
  findSecrets(): Generator<void, readonly SourceScalars[]>;
}

/** Results of the loader. */
interface LoaderResult {
  readonly placed: readonly Placed[];
  readonly settings: Settings;
  readonly unread: Unread;
  /** The document of the settings; `undefined` when there is none. */
  readonly settingsDocument: ConfigDocument | undefined;
  readonly sources: readonly ConfigText[];
  /** Of each source. */
  readonly parsed: readonly ParsedText[];
  readonly schemas: FileSchemas;
  /** Unsorted. */
  readonly diagnostics: readonly Diagnostic[];
  readonly files: readonly string[];
  /** See `ResourceSet.environment`. */
  readonly environment: readonly string[];
}

/** Assembles the results of the loader and keeps the source positions of resources, in steps. */
export function* createLoadedConfig(
  { placed, settings, settingsDocument, sources, diagnostics, ...rest }:
    LoaderResult,
): Generator<void, LoadedConfig> {
  const byKey = new Map<string, Placed>();
  for (const item of placed) {
    byKey.set(placedKey(item), item);
    yield;
  }
  const start = { file: sources[0]?.name ?? "", line: 1, column: 1 };
  return {
    resources: {
      ...resourceSetOf(placed.map(({ resource }) => resource)),
      ...(rest.environment.length > 0 && { environment: rest.environment }),
    },
    settings,
    unread: rest.unread,
    diagnostics: sortDiagnostics(diagnostics, sources),
    files: rest.files,
    *findSecrets() {
      const { schemas } = rest;
      const { sensitiveHeaders } = settings;
      const found: SourceScalars[] = [];
      for (const parsed of rest.parsed) {
        const privacy = { schemas, sensitiveHeaders };
        const scalars = yield* privateScalarsOf(parsed, privacy);
        const secrets = scalars.private.filter(({ isSecret }) => isSecret);
        found.push({ ...scalars, private: secrets });
      }
      return found;
    },
    diagnoseSetting(problem) {
      const path = ["config", ...problem.path];
      return settingsDocument === undefined
        ? {
          ...start,
          severity: "error",
          path: formatPath(path),
          message: problem.message,
        }
        : diagnoseAt(settingsDocument, path, { ...problem, path });
    },
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
