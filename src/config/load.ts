import {
  emptyResourceSet,
  kindSchemas,
  type Resource,
  type ResourceSet,
} from "../api/resource_set.ts";
import { type Settings, settingsSchema } from "../api/settings.ts";
import {
  formatPath,
  type Path,
  type Problem,
  show,
  validate,
} from "../api/validate.ts";
import { policyApiGroup } from "../api/group.ts";
import { createSuggest } from "../api/suggest.ts";
import { runToEnd } from "../base/slices.ts";
import { checkTogether } from "./checks.ts";
import {
  type ConfigSource,
  type Diagnostic,
  type Location,
  sortDiagnostics,
} from "./diagnostic.ts";
import { expandAll } from "./expand.ts";
import { isKubernetes, readKubernetes } from "./kubernetes_document.ts";
import { folderOf, normalise } from "./normalise.ts";
import {
  diagnose,
  diagnoseAt,
  isGenerated,
  originalPath,
  type Placed,
  placedKey,
} from "./placed.ts";
import { checkReferences, declaredNames } from "./references.ts";
import {
  isMapping,
  mappingOf,
  readShortDocument,
  type ShortDocument,
} from "./short_document.ts";
import type { Environment } from "./substitute.ts";
import { findSuspicious } from "./suspicious.ts";
import { type ConfigDocument, readDocuments } from "./config_document.ts";

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
  /** Place of what is at `path` in a resource; `undefined` for a key that is not in the set. */
  locate(
    key: string,
    path: Path,
  ): (Location & { readonly path: string }) | undefined;
}

/** Reads configuration in the short form, as Kubernetes kinds, or both. Never throws on bad input. */
export function loadConfig(
  sources: readonly ConfigSource[],
  environment: Environment,
): LoadedConfig {
  return runToEnd(loadInSteps(sources, environment));
}

/** As `loadConfig`, but in steps of a few milliseconds for a thread that has requests to serve; see `runInSlices`. */
export function* loadInSteps(
  sources: readonly ConfigSource[],
  environment: Environment,
): Generator<void, LoadedConfig> {
  const loader = new Loader();
  for (const source of sources) yield* loader.read(source, environment);
  return yield* loader.finish(sources);
}

/** A document after parsing, before its form is known. */
interface RawDocument {
  readonly document: ConfigDocument;
  readonly value: Readonly<Record<string, unknown>>;
  readonly folder: string | undefined;
}

class Loader {
  readonly #diagnostics: Diagnostic[] = [];
  readonly #raw: RawDocument[] = [];
  readonly #files = new Set<string>();

  *read(source: ConfigSource, environment: Environment): Generator<void> {
    const { documents, diagnostics } = yield* readDocuments(
      source,
      environment,
    );
    this.#diagnostics.push(...diagnostics);
    if (
      diagnostics.length === 0 && documents.every(({ value }) => value === null)
    ) {
      this.#diagnostics.push(emptyFile(source.name));
    }
    for (const document of documents) {
      const { value } = document;
      if (isMapping(value)) {
        this.#raw.push({ document, value, folder: folderOf(source.name) });
      } else if (value !== null) {
        const message = "expected a mapping at the top of the document";
        this.#report(document)([], { at: "value", message, got: show(value) });
      }
    }
  }

  *finish(
    sources: readonly ConfigSource[],
  ): Generator<void, LoadedConfig> {
    const userGroup = findPolicyApiGroup(this.#raw);
    const placed: Placed[] = [];
    const shorts: ShortDocument[] = [];
    const values: Readonly<Record<string, unknown>>[] = [];
    for (const { document, value: written, folder } of this.#raw) {
      yield;
      const conventions = { folder, policyApiGroup: userGroup };
      const value = normalise(written, conventions, this.#files);
      if (!isMapping(value)) continue;
      values.push(value);
      yield;
      const report = this.#report(document);
      if (isKubernetes(value)) {
        placed.push(...readKubernetes(document, value, report));
      } else shorts.push(readShortDocument(document, value, report));
    }
    const declared = declaredNames(values);
    const suggest = createSuggest();
    for (const short of shorts) {
      const report = this.#report(short.document);
      checkReferences(short, { declared, suggest }, report);
    }
    yield;
    for (const item of expandAll(shorts, placed)) {
      placed.push(...this.#validated(item));
      yield;
    }
    const settings = this.#settings(shorts);
    this.#diagnostics.push(...checkTogether(placed, settings));
    yield;
    if (!this.#diagnostics.some(({ severity }) => severity === "error")) {
      this.#diagnostics.push(...findSuspicious(placed));
    }
    return this.#result(placed, settings, sources);
  }

  /** Applies the rules of the kind, which the short form does not know, to a resource made from it. */
  #validated(item: Placed): readonly Placed[] {
    if (isGenerated(item.resource)) return [item];
    const result = validate(kindSchemas[item.resource.kind], item.resource);
    if (result.ok) return [{ ...item, resource: result.value }];
    this.#diagnostics.push(
      ...result.problems.map((problem) => diagnose(item, problem)),
    );
    return [];
  }

  #settings(shorts: readonly ShortDocument[]): Settings {
    const [first, ...others] = shorts.filter(({ value }) =>
      Object.hasOwn(value, "config")
    );
    for (const { document } of others) {
      const message = '"config" is already given in another document';
      this.#report(document)(["config"], { at: "key", message });
    }
    return first?.settings ?? defaultSettings();
  }

  #report(document: ConfigDocument) {
    return (path: Path, problem: Omit<Problem, "path">): void => {
      if (document.isBroken(path)) return;
      this.#diagnostics.push(diagnoseAt(document, path, { ...problem, path }));
    };
  }

  #result(
    placed: readonly Placed[],
    settings: Settings,
    sources: readonly ConfigSource[],
  ): LoadedConfig {
    const environment = this.#raw.flatMap(({ document }) => [
      ...document.environment,
    ]);
    const byKey = new Map(placed.map((item) => [placedKey(item), item]));
    const start = { file: sources[0]?.name ?? "", line: 1, column: 1 };
    return {
      resources: {
        ...resourceSetOf(placed.map(({ resource }) => resource)),
        ...(environment.length > 0 && { environment }),
      },
      settings,
      diagnostics: sortDiagnostics(this.#diagnostics, sources),
      files: [...this.#files],
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
      locate(key, path) {
        const item = byKey.get(key);
        if (item === undefined) return undefined;
        const original = originalPath(item.origins, path);
        return {
          ...item.document.locate(original),
          path: formatPath(original),
        };
      },
    };
  }
}

function emptyFile(file: string): Diagnostic {
  const message =
    'the file is empty; expected at least "gateways" and "routes"';
  return { file, line: 1, column: 1, severity: "error", path: "", message };
}

function defaultSettings(): Settings {
  const result = validate(settingsSchema, {});
  if (!result.ok) throw new TypeError("Cannot fill in default settings");
  return result.value;
}

function findPolicyApiGroup(
  documents: readonly RawDocument[],
): string | undefined {
  for (const { value } of documents) {
    const group = isKubernetes(value)
      ? undefined
      : mappingOf(value, "config")["policyApiGroup"];
    if (typeof group === "string" && group !== "" && group !== policyApiGroup) {
      return group;
    }
  }
  return undefined;
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
