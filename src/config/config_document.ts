import { formatPath, type Path } from "../api/schema/validate.ts";
import type {
  ConfigText,
  Diagnostic,
  Location,
} from "./diagnostics/located_diagnostic.ts";
import { type Environment, substitute } from "./yaml/substitute.ts";
import { parseYaml } from "./yaml/yaml.ts";
import type { YamlMap, YamlNode, YamlScalar } from "./yaml/yaml_node.ts";
import { offsetWithin, resolvePlainScalar } from "./yaml/yaml_text.ts";

/** One YAML document as plain data that still knows where every value was written. */
export interface ConfigDocument {
  readonly value: unknown;
  /**
   * Place of the value at `path` or of its key; of the nearest enclosing value when there is none.
   * @param offset Points into a text, when that is written on one line as it is.
   */
  locate(path: Path, at?: "key" | "value", offset?: number): Location;
  /** Environment variables whose values the scalar at `path` holds. */
  substituted(path: Path): readonly string[];
  /** The values of all environment variables that the document refers to. */
  readonly environment: ReadonlySet<string>;
  /** Whether the value at `path` could not be read, which has been reported. */
  isBroken(path: Path): boolean;
}

/** The documents of a source that could be read, and what is wrong with the others. */
export interface ParsedSource {
  readonly documents: readonly ConfigDocument[];
  readonly diagnostics: readonly Diagnostic[];
}

const MAX_DEPTH = 64;
/** Or as many as the text has characters, more than which only aliases can make. */
const MAX_NODES = 200_000;

/** Reads the documents of a source in steps, replacing environment references in scalar values. */
export function* readDocuments(
  source: ConfigText,
  environment: Environment,
): Generator<void, ParsedSource> {
  const { roots, diagnostics, locate } = yield* parseYaml(source);
  const readers: DocumentReader[] = [];
  for (const root of roots) {
    yield;
    readers.push(new DocumentReader(root, environment, source.text, locate));
  }
  return {
    documents: readers.filter(({ stopped }) => !stopped),
    diagnostics: [
      ...diagnostics,
      ...readers.flatMap((reader) => reader.diagnostics),
    ],
  };
}

/** A value of a mapping or list and where its key, or itself, begins. */
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

  /** Whether the document was too large to be read to its end. */
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
      const isAsWritten = !this.#substituted.has(node);
      const within = isAsWritten ? offsetWithin(node, this.#text, offset) : 0;
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
        "too much data once aliases are expanded, or too many levels";
      this.#report(node.start, path.slice(0, 1), message, node);
      return null;
    }
    switch (node.kind) {
      case "scalar":
        return this.#readScalar(node, path);
      case "list":
        return node.items.map((item, index) =>
          this.#read(item, [...path, index])
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
            : `no anchor "&${node.name}" comes before`,
          node,
        );
        return null;
    }
  }

  #readMap(map: YamlMap, path: Path): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const merged of mergedMaps(map).toReversed()) {
      // Of several merged mappings the first wins, so it is assigned last.
      Object.assign(result, this.#read(merged, [...path, "<<"]));
    }
    for (const { key, keyStart, value, merge } of map.entries) {
      if (merge) continue;
      if (key === undefined || key === "__proto__") {
        this.#report(keyStart, path, "a key must be a plain text");
      } else {
        result[key] = this.#read(value, [...path, key]);
      }
    }
    return result;
  }

  #readScalar(node: YamlScalar, path: Path): unknown {
    if (typeof node.value !== "string" || !node.value.includes("${")) {
      return node.value;
    }
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

/** The mappings that `<<` entries name, one level deep. */
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
