import { formatPath, type Path } from "../../api/schema/validate.ts";
import type {
  ConfigText,
  Diagnostic,
  Location,
} from "../diagnostics/located_diagnostic.ts";
import { DeferredLists } from "../../base/slices.ts";
import { type Environment, substitute } from "./substitute.ts";
import { parseYaml } from "./yaml.ts";
import type { YamlMap, YamlNode, YamlScalar } from "./yaml_node.ts";
import { offsetWithin, resolvePlainScalar } from "./yaml_text.ts";

/** A YAML document as plain data with source positions. */
export interface ConfigDocument {
  readonly value: unknown;
  /**
   * Returns the location of the value at `path` or of its key; if it does not exist, of the nearest enclosing value.
   * @param offset Position in a string value; ignored unless the string is written verbatim on one line.
   */
  locate(path: Path, at?: "key" | "value", offset?: number): Location;
  /** Returns the environment variables that the scalar at `path` refers to. */
  substituted(path: Path): readonly string[];
  /** Values of all environment variables that the document refers to. */
  readonly environment: ReadonlySet<string>;
  /** Reports whether the value at `path` is invalid and has been reported as such. */
  isBroken(path: Path): boolean;
}

/** The readable documents of a source and the problems of the others. */
export interface ParsedSource {
  /** Of all documents without syntax errors. */
  readonly roots: readonly (YamlNode | undefined)[];
  readonly documents: readonly ConfigDocument[];
  readonly diagnostics: readonly Diagnostic[];
  /** True if a document could not be read, or only a part of it. */
  readonly isCut: boolean;
}

const MAX_DEPTH = 64;
/** Limit for short sources; long ones may have a node per character. Only aliases can exceed both. */
const MAX_NODES = 200_000;

/** Reads the documents of a source in steps and substitutes environment variables in scalars. */
export function* readDocuments(
  source: ConfigText,
  environment: Environment,
): Generator<void, ParsedSource> {
  const { roots, diagnostics, locate } = yield* parseYaml(source);
  const readers: DocumentReader[] = [];
  for (const root of roots) {
    yield;
    const reader = new DocumentReader(root, environment, source.text, locate);
    yield* reader.finish();
    readers.push(reader);
  }
  return {
    roots,
    documents: readers.filter(({ stopped }) => !stopped),
    isCut: diagnostics.length > 0 || readers.some(({ stopped }) => stopped),
    diagnostics: [
      ...diagnostics,
      ...readers.flatMap((reader) => reader.diagnostics),
    ],
  };
}

/** A value in a mapping or list, and the start of its key or, in a list, of itself. */
interface Child {
  readonly node: YamlNode | undefined;
  readonly keyStart: number;
}

class DocumentReader implements ConfigDocument {
  readonly value: unknown;
  readonly diagnostics: Diagnostic[] = [];
  readonly environment = new Set<string>();
  readonly #root: YamlNode | undefined;
  readonly #environment: Environment;
  readonly #text: string;
  readonly #locate: (offset: number) => Location;
  readonly #substituted = new Map<YamlNode, readonly string[]>();
  readonly #broken = new Set<YamlNode>();
  readonly #lists = new DeferredLists();
  readonly #maxNodes: number;
  #nodeCount = 0;
  #stopped = false;

  constructor(
    root: YamlNode | undefined,
    environment: Environment,
    text: string,
    locate: (offset: number) => Location,
  ) {
    this.#root = root;
    this.#environment = environment;
    this.#text = text;
    this.#maxNodes = Math.max(MAX_NODES, text.length);
    this.#locate = locate;
    this.value = this.#read(root, []);
  }

  /** Reads the items of long lists, which the constructor leaves out. */
  finish(): Generator<void> {
    return this.#lists.run();
  }

  /** Reports whether reading stopped because the document is too large. */
  get stopped(): boolean {
    return this.#stopped;
  }

  locate(
    path: Path,
    at?: "key" | "value",
    offset?: number,
  ): Location {
    const { node, keyStart, found } = this.#find(path);
    if (found && offset !== undefined && node?.kind === "scalar") {
      const within = this.#substituted.has(node)
        ? 0
        : offsetWithin(node, this.#text, offset);
      return this.#locate(node.start + within);
    }
    const isBlock = (node?.kind === "map" || node?.kind === "list") &&
      !node.flow;
    return this.#locate(
      at === "key" || !found || isBlock ? keyStart : node?.start ?? keyStart,
    );
  }

  substituted(path: Path): readonly string[] {
    const { node, found } = this.#find(path);
    const target = resolve(node);
    return found && target !== undefined
      ? this.#substituted.get(target) ?? []
      : [];
  }

  isBroken(path: Path): boolean {
    const { node, found } = this.#find(path);
    return found && node !== undefined && this.#broken.has(node);
  }

  #find(path: Path): Child & { readonly found: boolean } {
    let child: Child = { node: this.#root, keyStart: this.#root?.start ?? 0 };
    for (const step of path) {
      const next = childOf(child.node, step);
      if (next === undefined) return { ...child, found: false };
      child = next;
    }
    return { ...child, found: true };
  }

  #read(node: YamlNode | undefined, path: Path): unknown {
    if (this.#stopped || node === undefined) return null;
    if (path.length > MAX_DEPTH || ++this.#nodeCount > this.#maxNodes) {
      this.#stopped = true;
      const message =
        "the document is too large after expanding aliases, or nested too deeply";
      this.#report(node.start, path.slice(0, 1), message, node);
      return null;
    }
    switch (node.kind) {
      case "scalar":
        return this.#readScalar(node, path);
      case "list":
        return this.#lists.fill<YamlNode, unknown>(
          [],
          node.items,
          (item, index) => this.#read(item, [...path, index]),
        );
      case "map":
        return this.#readMap(node, path);
      case "alias":
        if (node.target !== undefined) {
          return this.#read(node.target, [...path, "*"]);
        }
        this.#report(
          node.start,
          path,
          node.name.startsWith(".")
            ? `"*" starts a YAML alias; quote it: "*${node.name}"`
            : `anchor "&${node.name}" is not defined before this alias`,
          node,
        );
        return null;
    }
  }

  #readMap(map: YamlMap, path: Path): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const merged of mergedMaps(map).toReversed()) {
      // The first of several merged mappings wins, so it is assigned last.
      Object.assign(result, this.#read(merged, [...path, "<<"]));
    }
    for (const { key, keyStart, value, merge } of map.entries) {
      if (merge) continue;
      if (key !== undefined && isPlaceholder(key)) {
        this.#report(keyStart, path, placeholderMessage(key));
      } else if (key === undefined || key === "__proto__") {
        this.#report(keyStart, path, "expected a string as key");
      } else {
        result[key] = this.#read(value, [...path, key]);
      }
    }
    return result;
  }

  #readScalar(node: YamlScalar, path: Path): unknown {
    if (typeof node.value !== "string") return node.value;
    if (isPlaceholder(node.value)) {
      this.#report(node.start, path, placeholderMessage(node.value), node);
    }
    if (!node.value.includes("${")) return node.value;
    const { text, used, errors } = substitute(node.value, this.#environment);
    for (const message of errors) this.#report(node.start, path, message, node);
    if (used.length > 0) this.#substituted.set(node, used);
    for (const name of used) {
      this.environment.add(this.#environment[name] ?? "");
    }
    return node.plain ? resolvePlainScalar(text) : text;
  }

  #report(
    offset: number,
    path: Path,
    message: string,
    broken?: YamlNode,
  ): void {
    if (broken !== undefined) this.#broken.add(broken);
    const place = { ...this.#locate(offset), path: formatPath(path) };
    this.diagnostics.push({ ...place, severity: "error", message });
  }
}

/** Reports whether a text was taken from a configuration that is shown without its secrets. */
function isPlaceholder(text: string): boolean {
  return text.includes("<redacted") && placeholder.test(text);
}

function placeholderMessage(text: string): string {
  const [found = ""] = placeholder.exec(text) ?? [];
  return `${
    JSON.stringify(found)
  } is not a value: it stands for a secret that was not shown; write the secret, or a reference such as "\${NAME}"`;
}

const placeholder = /<redacted(?: [0-9]+)?>/;

function childOf(
  parent: YamlNode | undefined,
  step: string | number,
): Child | undefined {
  const node = resolve(parent);
  if (node?.kind === "list") {
    const item = typeof step === "number" ? node.items[step] : undefined;
    return item && { node: item, keyStart: item.start };
  }
  if (node?.kind !== "map") return undefined;
  const entry = node.entries.find(({ key, merge }) =>
    key === String(step) && !merge
  );
  if (entry !== undefined) {
    return { node: entry.value, keyStart: entry.keyStart };
  }
  for (const merged of mergedMaps(node)) {
    const own = merged.entries.find(({ key, merge }) =>
      key === String(step) && !merge
    );
    if (own !== undefined) return { node: own.value, keyStart: own.keyStart };
  }
  return undefined;
}

/** Returns the mappings that `<<` entries refer to, one level deep. */
function mergedMaps(map: YamlMap): readonly YamlMap[] {
  return map.entries.filter(({ merge }) => merge).flatMap(({ value }) => {
    const node = resolve(value);
    const candidates = node?.kind === "list" ? node.items.map(resolve) : [node];
    return candidates.filter((candidate) => candidate?.kind === "map");
  });
}

function resolve(node: YamlNode | undefined): YamlNode | undefined {
  return node?.kind === "alias" ? node.target : node;
}
