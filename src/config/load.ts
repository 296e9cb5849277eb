import { isJsonObject, type JsonObject } from "../base/json.ts";
import { type Settings, settingsSchema } from "../api/settings.ts";
import {
  type Path,
  type Problem,
  show,
  validate,
} from "../api/schema/validate.ts";
import { POLICY_API_GROUP } from "../api/schema/group.ts";
import { createSuggest } from "../api/schema/suggest.ts";
import { runToEnd } from "../base/slices.ts";
import { checkConsistency, lint } from "./resource_checks.ts";
import {
  type ConfigText,
  type Diagnostic,
  isError,
} from "./diagnostics/located_diagnostic.ts";
import { expandAll } from "./short_form/expand.ts";
import { createLoadedConfig, type LoadedConfig } from "./loaded_config.ts";
import { readKubernetes } from "./kubernetes_document.ts";
import { directoryOf, normalizeInSteps } from "./short_form/normalize.ts";
import {
  diagnose,
  diagnoseAt,
  isGenerated,
  type Placed,
} from "./short_form/placed.ts";
import {
  checkReferences,
  declaredNames,
} from "./short_form/short_references.ts";
import {
  isKubernetes,
  listOf,
  mappingOf,
  readShortDocument,
  type ShortDocument,
} from "./short_form/short_document.ts";
import { anyUnread, findUnread, nothingUnread } from "./short_form/unread.ts";
import type { ParsedText } from "./source_secrets.ts";
import type { Environment } from "./yaml/substitute.ts";
import type { FileSchemas } from "./file_schema.ts";
import { type ConfigDocument, readDocuments } from "./yaml/config_document.ts";

/** Loads configuration in the short form, as Kubernetes kinds, or both. Never throws on invalid input. */
export function loadConfig(
  sources: readonly ConfigText[],
  environment: Environment,
  schemas: FileSchemas,
): LoadedConfig {
  return runToEnd(loadInSteps(sources, environment, schemas));
}

/** Runs `loadConfig` in steps of a few milliseconds, for a thread that serves requests; see `runInSlices`. */
export function* loadInSteps(
  sources: readonly ConfigText[],
  environment: Environment,
  schemas: FileSchemas,
): Generator<void, LoadedConfig> {
  const loader = new Loader(schemas, environment);
  for (const source of sources) yield* loader.read(source);
  return yield* loader.finish(sources);
}

/** A parsed document of either form. */
interface RawDocument {
  readonly document: ConfigDocument;
  readonly value: JsonObject;
  readonly directory: string | undefined;
}

interface Forms {
  /** Resources in the form of Kubernetes. */
  readonly placed: Placed[];
  readonly shorts: readonly ShortDocument[];
  readonly values: readonly JsonObject[];
}

class Loader {
  readonly #schemas: FileSchemas;
  readonly #diagnostics: Diagnostic[] = [];
  readonly #raw: RawDocument[] = [];
  readonly #parsed: ParsedText[] = [];
  readonly #files = new Set<string>();
  readonly #environment: Environment;
  /** A document cannot be read at all: what it declares is unknown. */
  #isCut = false;
  /** Values of variables that `fromEnv` names. */
  readonly #keys = new Set<string>();

  constructor(schemas: FileSchemas, environment: Environment) {
    this.#schemas = schemas;
    this.#environment = environment;
  }

  *read(source: ConfigText): Generator<void> {
    const { roots, documents, diagnostics, isCut } = yield* readDocuments(
      source,
      this.#environment,
    );
    this.#parsed.push({ text: source.text, roots });
    this.#diagnostics.push(...diagnostics);
    this.#isCut ||= isCut;
    if (
      diagnostics.length === 0 && documents.every(({ value }) => value === null)
    ) {
      this.#diagnostics.push(emptyFile(source.name));
    } else if (source.expectsLastLineEnd) {
      this.#diagnostics.push(...unfinishedLine(source));
    }
    for (const document of documents) {
      const { value } = document;
      if (isJsonObject(value)) {
        this.#raw.push({
          document,
          value,
          directory: directoryOf(source.name),
        });
      } else if (value !== null) {
        const message = "expected a mapping at the top level of the document";
        this.#report(document)([], { at: "value", message, got: show(value) });
      }
    }
  }

  *finish(
    sources: readonly ConfigText[],
  ): Generator<void, LoadedConfig> {
    const { placed, shorts, values } = yield* this.#readForms();
    const declared = declaredNames(values);
    const suggest = createSuggest();
    yield;
    for (const short of this.#isCut ? [] : shorts) {
      const report = this.#report(short.document);
      checkReferences(short, { declared, suggest }, report);
      yield;
    }
    const kubernetes = {
      placed: [...placed],
      count: values.filter(isKubernetes).reduce(
        (n, value) => n + countResources(value),
        0,
      ),
    };
    for (const item of yield* expandAll(shorts, placed)) {
      placed.push(...this.#validated(item));
      yield;
    }
    const { settings, document } = this.#settings(shorts);
    const hasError = () => this.#diagnostics.some(isError);
    const unread = this.#isCut
      ? anyUnread
      : hasError()
      ? findUnread(shorts, kubernetes, declared)
      : nothingUnread;
    this.#diagnostics.push(
      ...yield* checkConsistency(placed, settings, unread.settings),
    );
    yield;
    if (!hasError()) this.#diagnostics.push(...lint(placed));
    yield;
    return yield* createLoadedConfig({
      placed,
      unread,
      settings,
      settingsDocument: document,
      sources,
      parsed: this.#parsed,
      schemas: this.#schemas,
      diagnostics: this.#diagnostics,
      files: [...this.#files],
      environment: [
        ...this.#raw.flatMap(({ document }) => [...document.environment]),
        ...this.#keys,
      ],
    });
  }

  /** Reads each document in its form; `values` are the normalized documents. */
  *#readForms(): Generator<void, Forms> {
    const { kinds, short } = this.#schemas;
    const policyApiGroup = findPolicyApiGroup(this.#raw);
    const placed: Placed[] = [];
    const shorts: ShortDocument[] = [];
    const values: JsonObject[] = [];
    for (const { document, value: written, directory } of this.#raw) {
      yield;
      const conventions = {
        directory,
        policyApiGroup,
        files: this.#files,
        environment: this.#environment,
        used: this.#keys,
      };
      const value = yield* normalizeInSteps(written, conventions);
      if (!isJsonObject(value)) continue;
      values.push(value);
      yield;
      const report = this.#report(document);
      if (isKubernetes(value)) {
        const resources = yield* readKubernetes(document, value, {
          kinds,
          report,
        });
        for (const resource of resources) placed.push(resource);
      } else {
        shorts.push(yield* readShortDocument(document, value, short, report));
      }
    }
    return { placed, shorts, values };
  }

  /** Validates an expanded resource against rules of its kind that the short form does not have. */
  #validated(item: Placed): readonly Placed[] {
    if (isGenerated(item.resource)) return [item];
    const { kinds } = this.#schemas;
    const result = validate(kinds[item.resource.kind], item.resource);
    if (result.ok) return [{ ...item, resource: result.value }];
    // It may be invalid only because of what was left out.
    if (item.removed !== undefined) return [];
    this.#diagnostics.push(
      ...result.problems.map((problem) => diagnose(item, problem)),
    );
    return [];
  }

  #settings(shorts: readonly ShortDocument[]): {
    readonly settings: Settings;
    readonly document: ConfigDocument | undefined;
  } {
    const [first, ...others] = shorts.filter(({ value }) =>
      Object.hasOwn(value, "config")
    );
    for (const { document } of others) {
      const message = '"config" is already set in another document';
      this.#report(document)(["config"], { at: "key", message });
    }
    return {
      settings: first?.settings?.value ?? defaultSettings(),
      document: first?.document,
    };
  }

  #report(document: ConfigDocument) {
    return (path: Path, problem: Omit<Problem, "path">): void => {
      if (document.isBroken(path)) return;
      this.#diagnostics.push(diagnoseAt(document, path, { ...problem, path }));
    };
  }
}

function countResources(value: JsonObject): number {
  return value["kind"] === "List" ? listOf(value, "items").length : 1;
}

/** Warns of YAML that ends inside a line; JSON that is cut is a syntax error. */
function unfinishedLine({ name, text }: ConfigText): readonly Diagnostic[] {
  if (/\n$/.test(text) || /^\s*[{[]/.test(text)) return [];
  const message =
    "the last line has no end, so the file may be cut off; end it with a line break";
  // Not at the last line: its excerpt could show a secret that is cut.
  const place = { file: name, line: 1, column: 1, path: "" };
  return [{ ...place, severity: "warning", message }];
}

function emptyFile(file: string): Diagnostic {
  const message =
    'the file is empty; expected at least "gateways" and "routes"';
  return { file, line: 1, column: 1, severity: "error", path: "", message };
}

function defaultSettings(): Settings {
  const result = validate(settingsSchema, {});
  if (!result.ok) throw new TypeError("default settings are invalid");
  return result.value;
}

function findPolicyApiGroup(
  documents: readonly RawDocument[],
): string | undefined {
  for (const { value } of documents) {
    const group = isKubernetes(value)
      ? undefined
      : mappingOf(value, "config")["policyApiGroup"];
    if (
      typeof group === "string" && group !== "" && group !== POLICY_API_GROUP
    ) {
      return group;
    }
  }
  return undefined;
}
