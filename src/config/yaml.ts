import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
  stringify,
  type YAMLError,
  type YAMLMap,
} from "yaml";
import { formatPath, type Path } from "../api/validate.ts";
import type { ConfigSource, Diagnostic, Location } from "./diagnostic.ts";
import { type Environment, substitute } from "./substitute.ts";
import { resolvePlainScalar, syntaxMessage } from "./yaml_text.ts";

/** One YAML document as plain data that still knows where every value was written. */
export interface ConfigDocument {
  readonly value: unknown;
  /** Place of the value at `path` or of its key; of the nearest enclosing value when there is none. */
  locate(path: Path, at?: "key" | "value"): Location;
  /** Environment variables whose values the scalar at `path` holds. */
  substituted(path: Path): readonly string[];
  /** Whether the value at `path` could not be read, which has been reported. */
  isBroken(path: Path): boolean;
}

/** The documents of a source that could be read, and what is wrong with the others. */
export interface ParsedSource {
  readonly documents: readonly ConfigDocument[];
  readonly diagnostics: readonly Diagnostic[];
}

const maxDepth = 64;
const maxNodes = 200_000;

/** Reads YAML or JSON, replacing environment references in scalar values. Never throws on bad text. */
export function parseYaml(
  source: ConfigSource,
  environment: Environment,
): ParsedSource {
  const lineCounter = new LineCounter();
  const locate = (offset: number): Location => {
    const { line, col } = lineCounter.linePos(offset);
    return {
      file: source.name,
      line: Math.max(1, line),
      column: Math.max(1, col),
    };
  };
  const parsed = parseDocuments(source.text, lineCounter);
  if (parsed === undefined) {
    const message = "the document is nested too deeply to be read";
    return {
      documents: [],
      diagnostics: [{ ...locate(0), severity: "error", path: "", message }],
    };
  }
  const documents: ConfigDocument[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const document of parsed) {
    const faults = [...document.errors, ...document.warnings];
    diagnostics.push(
      ...faults.filter(isRootFault).map((fault) =>
        syntaxError(fault, source.text, locate)
      ),
    );
    if (faults.length > 0) continue;
    const reader = new DocumentReader(document, environment, locate);
    if (!reader.stopped) documents.push(reader);
    diagnostics.push(...reader.diagnostics);
  }
  return { documents, diagnostics };
}

/** Later syntax errors mostly follow from the first; repeated keys do not. */
function isRootFault(fault: YAMLError, index: number): boolean {
  return index === 0 || fault.code === "DUPLICATE_KEY";
}

function parseDocuments(
  text: string,
  lineCounter: LineCounter,
): readonly Document[] | undefined {
  try {
    const parsed = parseAllDocuments(text, {
      lineCounter,
      prettyErrors: false,
      merge: true,
    });
    return [...parsed];
  } catch (error) {
    // The parser recurses; a file of ten thousand brackets exhausts the stack.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function syntaxError(
  fault: YAMLError,
  text: string,
  locate: (offset: number) => Location,
): Diagnostic {
  const message = syntaxMessage(
    fault.code,
    fault.message,
    text.slice(Math.max(0, fault.pos[0] - 1), fault.pos[0] + 256),
  );
  return { ...locate(fault.pos[0]), severity: "error", path: "", message };
}

/** A child of a mapping or list and where its name, or itself, begins. */
interface Child {
  readonly node: Node | undefined;
  readonly keyOffset: number;
}

class DocumentReader implements ConfigDocument {
  readonly value: unknown;
  readonly diagnostics: Diagnostic[] = [];
  readonly #document: Document;
  readonly #environment: Environment;
  readonly #locateOffset: (offset: number) => Location;
  readonly #substituted = new Map<Node, readonly string[]>();
  readonly #broken = new Set<Node>();
  #nodeCount = 0;
  #stopped = false;

  constructor(
    document: Document,
    environment: Environment,
    locateOffset: (offset: number) => Location,
  ) {
    this.#document = document;
    this.#environment = environment;
    this.#locateOffset = locateOffset;
    this.value = this.#read(document.contents ?? undefined, []);
  }

  locate(path: Path, at: "key" | "value" = "value"): Location {
    const { child, complete } = this.#find(path);
    const { node, keyOffset } = child;
    const offset = at === "key" || !complete || isBlock(node)
      ? keyOffset
      : startOf(node, keyOffset);
    return this.#locateOffset(offset);
  }

  /** Whether the document was too large to be read to its end. */
  get stopped(): boolean {
    return this.#stopped;
  }

  isBroken(path: Path): boolean {
    const { child, complete } = this.#find(path);
    return complete && child.node !== undefined && this.#broken.has(child.node);
  }

  substituted(path: Path): readonly string[] {
    const { child, complete } = this.#find(path);
    const node = isAlias(child.node) ? this.#resolve(child.node) : child.node;
    return complete && node !== undefined
      ? this.#substituted.get(node) ?? []
      : [];
  }

  #find(path: Path): { readonly child: Child; readonly complete: boolean } {
    const root = this.#document.contents ?? undefined;
    let child: Child = {
      node: root,
      keyOffset: startOf(root, this.#document.range?.[0] ?? 0),
    };
    for (const step of path) {
      const next = this.#childOf(child.node, step);
      if (next === undefined) return { child, complete: false };
      child = next;
    }
    return { child, complete: true };
  }

  #childOf(parent: Node | undefined, step: string | number): Child | undefined {
    const node = isAlias(parent) ? this.#resolve(parent) : parent;
    if (isSeq<Node>(node)) {
      const item = typeof step === "number" ? node.items[step] : undefined;
      return item && { node: item, keyOffset: startOf(item, startOf(node, 0)) };
    }
    if (!isMap<Node, Node | null>(node)) return undefined;
    const pair = node.items.find(({ key }) =>
      isScalar(key) && String(key.value) === String(step)
    );
    if (pair !== undefined) return childOfPair(pair);
    const merges = node.items.filter(isMerge).flatMap(({ value }) =>
      this.#mergedMaps(value)
    );
    return merges.map((map) => this.#childOf(map, step)).find((child) =>
      child !== undefined
    );
  }

  #resolve(alias: Alias): Node | undefined {
    return alias.resolve(this.#document);
  }

  #read(node: Node | undefined, path: Path): unknown {
    if (this.#stopped || node === undefined) return null;
    if (path.length > maxDepth || ++this.#nodeCount > maxNodes) {
      this.#stopped = true;
      this.#report(
        node,
        path.slice(0, 1),
        "too much data once aliases are expanded, or too many levels",
      );
      return null;
    }
    if (isAlias(node)) return this.#readAlias(node, path);
    if (isMap<Node, Node | null>(node)) return this.#readMap(node, path);
    if (isSeq<Node>(node)) {
      return node.items.map((item, i) => this.#read(item, [...path, i]));
    }
    return isScalar(node) ? this.#readScalar(node, path) : null;
  }

  #readAlias(alias: Alias, path: Path): unknown {
    const target = this.#resolve(alias);
    if (target === undefined) {
      this.#report(alias, path, `no anchor "&${alias.source}" comes before`);
    }
    return this.#read(target, [...path, "*"]);
  }

  #readMap(
    map: YAMLMap<Node, Node | null>,
    path: Path,
  ): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const { value } of map.items.filter(isMerge)) {
      // Of several merged mappings the first wins, so it is assigned last.
      for (const merged of this.#mergedMaps(value).toReversed()) {
        Object.assign(result, this.#read(merged, [...path, "<<"]));
      }
    }
    for (const pair of map.items) {
      if (isMerge(pair)) continue;
      const key = isScalar(pair.key) && pair.key.value !== null
        ? String(pair.key.value)
        : undefined;
      if (key === undefined || key === "__proto__") {
        this.#report(pair.key, path, "a key must be a plain text");
      } else {
        result[key] = this.#read(pair.value ?? undefined, [...path, key]);
      }
    }
    return result;
  }

  #mergedMaps(value: Node | null): readonly YAMLMap<Node, Node | null>[] {
    const node = isAlias(value) ? this.#resolve(value) : value;
    if (isMap<Node, Node | null>(node)) return [node];
    if (!isSeq<Node>(node)) return [];
    return node.items.flatMap((item) =>
      isSeq(item) ? [] : this.#mergedMaps(item)
    );
  }

  #readScalar(node: Scalar, path: Path): unknown {
    if (typeof node.value !== "string" || !node.value.includes("${")) {
      return node.value;
    }
    const { text, used, errors } = substitute(node.value, this.#environment);
    for (const message of errors) this.#report(node, path, message);
    if (used.length > 0) this.#substituted.set(node, used);
    return node.type === "PLAIN" ? resolvePlainScalar(text) : text;
  }

  #report(node: Node, path: Path, message: string): void {
    this.#broken.add(node);
    const location = this.#locateOffset(startOf(node, 0));
    this.diagnostics.push({
      ...location,
      severity: "error",
      path: formatPath(path),
      message,
    });
  }
}

function childOfPair({ key, value }: Pair<Node, Node | null>): Child {
  return { node: value ?? undefined, keyOffset: startOf(key, 0) };
}

function isMerge({ key }: Pair<Node, Node | null>): boolean {
  return isScalar(key) && key.type === "PLAIN" && key.source === "<<";
}

function isBlock(node: Node | undefined): boolean {
  return isCollection(node) && node.flow !== true;
}

function startOf(node: Node | undefined, fallback: number): number {
  return node?.range?.[0] ?? fallback;
}

/** YAML text of plain data. */
export function printYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
