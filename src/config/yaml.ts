import {
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
  type YAMLError,
} from "yaml";
import type { ConfigSource, Diagnostic, Location } from "./diagnostic.ts";
import { missingMark, syntaxMessage, unclosedMessage } from "./yaml_text.ts";

/** A value in a YAML text; `start` counts characters from the beginning of the text. */
export type YamlNode = YamlScalar | YamlMap | YamlList | YamlAlias;

/** A text, number, boolean or null. */
export interface YamlScalar {
  readonly kind: "scalar";
  readonly start: number;
  readonly value: unknown;
  /** Written without quotes, so that its type follows from its text. */
  readonly plain: boolean;
}

/** A mapping; `flow` when in braces. */
export interface YamlMap {
  readonly kind: "map";
  readonly start: number;
  readonly flow: boolean;
  readonly entries: readonly YamlEntry[];
}

/** A list; `flow` when in brackets. */
export interface YamlList {
  readonly kind: "list";
  readonly start: number;
  readonly flow: boolean;
  readonly items: readonly YamlNode[];
}

/** A reference to an anchored node, which may contain it. */
export interface YamlAlias {
  readonly kind: "alias";
  readonly start: number;
  readonly name: string;
  readonly target: YamlNode | undefined;
}

/** One entry of a mapping. */
export interface YamlEntry {
  /** `undefined` for keys that are no texts. */
  readonly key: string | undefined;
  readonly keyStart: number;
  readonly value: YamlNode | undefined;
  /** Whether this is `<<`, which merges other mappings into this one. */
  readonly merge: boolean;
}

/** A text taken apart: the root of each readable document, what is wrong with the others. */
export interface ParsedYaml {
  readonly roots: readonly (YamlNode | undefined)[];
  readonly diagnostics: readonly Diagnostic[];
  /** Place of a character. */
  locate(offset: number): Location;
}

/** Takes YAML or JSON apart. Never throws on bad text. */
export function parseYaml({ name, text }: ConfigSource): ParsedYaml {
  const lineCounter = new LineCounter();
  const locate = (offset: number): Location => {
    const { line, col } = lineCounter.linePos(offset);
    return { file: name, line: Math.max(1, line), column: Math.max(1, col) };
  };
  try {
    const documents = [
      ...parseAllDocuments(text, {
        lineCounter,
        prettyErrors: false,
        merge: true,
      }),
    ];
    const sound = documents.filter((document) =>
      faultsOf(document).length === 0
    );
    const diagnostics = documents.flatMap((document) =>
      faultsOf(document).map((fault) =>
        syntaxError(fault, document, text, locate)
      )
    );
    return { roots: sound.map(convertDocument), diagnostics, locate };
  } catch (error) {
    // The parser recurses; a file of ten thousand brackets exhausts the stack.
    if (!(error instanceof RangeError)) throw error;
    const message = "the document is nested too deeply to be read";
    const diagnostic: Diagnostic = {
      ...locate(0),
      severity: "error",
      path: "",
      message,
    };
    return { roots: [], diagnostics: [diagnostic], locate };
  }
}

/** YAML text of plain data. What is not to be seen is escaped: a terminal might obey it. */
export function printYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value !== "string") return;
      // Only there YAML knows escapes.
      if (scalar.value.search(invisible) >= 0) scalar.type = "QUOTE_DOUBLE";
    },
  });
  return document.toString({ lineWidth: 0 }).replace(invisible, escape);
}

/** Controls, formats such as reversed writing, unassigned characters and line separators, but no line breaks and tabs. */
const invisible = /[^\P{C}\n\t]|[\u2028\u2029]/gu;

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

/** Later syntax errors mostly follow from the first; repeated keys do not. */
function faultsOf(document: Document): readonly YAMLError[] {
  return [...document.errors, ...document.warnings]
    .filter(({ code }, index) => index === 0 || code === "DUPLICATE_KEY");
}

/** What is never closed is reported where it was opened, which can be far above the place where the parser gave up. */
function syntaxError(
  fault: YAMLError,
  document: Document,
  text: string,
  locate: (offset: number) => Location,
): Diagnostic {
  const [start] = fault.pos;
  const mark = missingMark(fault.message);
  const opener = mark === undefined
    ? undefined
    : openerOf(document, text, mark, start);
  const around = text.slice(Math.max(0, start - 1), start + 256);
  const before = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  const message = opener === undefined
    ? syntaxMessage(fault.code, fault.message, { before, around })
    : unclosedMessage(text.charAt(opener), locate(start));
  const first = fault.code === "DUPLICATE_KEY"
    ? firstWithKeyAt(document, start)
    : undefined;
  const earlier = first === undefined
    ? ""
    : `; the first one is in line ${locate(first).line}`;
  const place = locate(opener ?? start);
  return { ...place, severity: "error", path: "", message: message + earlier };
}

/** Where the first key begins that is equal to the one at `offset`, in the same mapping. */
function firstWithKeyAt(
  document: Document,
  offset: number,
): number | undefined {
  let first: number | undefined;
  visit(document, {
    Map(_, { items }) {
      const keys = items.map(({ key }) => key).filter((key) => isScalar(key));
      const repeated = keys.find(({ range }) => range?.[0] === offset);
      if (repeated === undefined) return undefined;
      first = keys.find(({ value }) => value === repeated.value)?.range?.[0];
      return visit.BREAK;
    },
  });
  return first;
}

/** Where the innermost text or collection begins that should have been closed by `mark` before `end`. */
function openerOf(
  document: Document,
  text: string,
  mark: string,
  end: number,
): number | undefined {
  const opening = { "}": "{", "]": "[" }[mark] ?? mark;
  let found: number | undefined;
  visit(document, {
    Node(_, node) {
      const [from, to] = node.range ?? [end, end];
      const surrounds = from < end && to >= end && text[from] === opening;
      if (surrounds && from >= (found ?? 0)) found = from;
    },
  });
  return found;
}

function convertDocument(document: Document): YamlNode | undefined {
  const { contents } = document;
  return contents === null ? undefined : convert(contents, document, new Map());
}

/** `known` holds what has been converted, or begun: an alias can point to a node around it. */
function convert(
  node: Node,
  document: Document,
  known: Map<Node, YamlNode>,
): YamlNode {
  const before = known.get(node);
  if (before !== undefined) return before;
  const start = startOf(node, 0);
  const next = (child: Node) => convert(child, document, known);
  if (isAlias(node)) {
    const target = node.resolve(document);
    return {
      kind: "alias",
      start,
      name: node.source,
      target: target && next(target),
    };
  }
  if (isSeq<Node>(node)) {
    const items: YamlNode[] = [];
    known.set(node, { kind: "list", start, flow: node.flow === true, items });
    items.push(...node.items.map(next));
  } else if (isMap<Node, Node | null>(node)) {
    const entries: YamlEntry[] = [];
    known.set(node, { kind: "map", start, flow: node.flow === true, entries });
    entries.push(...node.items.map(({ key, value }) => ({
      ...keyOf(key),
      keyStart: startOf(key, start),
      value: value === null ? undefined : next(value),
    })));
  } else if (isScalar(node)) {
    known.set(node, {
      kind: "scalar",
      start,
      value: node.value,
      plain: node.type === "PLAIN",
    });
  }
  return known.get(node) ?? { kind: "scalar", start, value: null, plain: true };
}

function keyOf(key: Node): Pick<YamlEntry, "key" | "merge"> {
  if (!isScalar(key) || key.value === null) {
    return { key: undefined, merge: false };
  }
  return {
    key: String(key.value),
    merge: key.type === "PLAIN" && key.source === "<<",
  };
}

function startOf(node: Node, fallback: number): number {
  return node.range?.[0] ?? fallback;
}
