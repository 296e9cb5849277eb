import { DeferredLists } from "../../base/slices.ts";
import type {
  ConfigText,
  Diagnostic,
  Location,
} from "../diagnostics/located_diagnostic.ts";
import {
  compose,
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  visit,
  type YAMLError,
} from "../../base/yaml_library.ts";
import type { YamlEntry, YamlNode } from "./yaml_node.ts";
import {
  missingTerminator,
  syntaxMessage,
  unclosedMessage,
} from "./yaml_text.ts";

/** Parsed YAML: the root of each readable document and the problems of the others. */
export interface ParsedYaml {
  readonly roots: readonly (YamlNode | undefined)[];
  readonly diagnostics: readonly Diagnostic[];
  /** Returns the location of a character. */
  locate(offset: number): Location;
}

/** Parses YAML or JSON in steps. Never throws on invalid input. */
export function* parseYaml(
  { name, text }: ConfigText,
): Generator<void, ParsedYaml> {
  const lineCounter = new LineCounter();
  const locate = (offset: number): Location => {
    const { line, col } = lineCounter.linePos(offset);
    return { file: name, line: Math.max(1, line), column: Math.max(1, col) };
  };
  try {
    const documents = yield* compose(text, lineCounter);
    const lists = new DeferredLists();
    const roots = documents
      .filter((document) => independentErrors(document).length === 0)
      .map((document) => convertDocument(document, lists));
    yield* lists.run();
    const diagnostics = documents.flatMap((document) =>
      syntaxErrors(document, text, locate)
    );
    return { roots, diagnostics, locate };
  } catch (error) {
    // The parser is recursive; ten thousand brackets exhaust the stack.
    if (!(error instanceof RangeError)) throw error;
    const message = "the document is nested too deeply";
    const diagnostic: Diagnostic = {
      ...locate(0),
      severity: "error",
      path: "",
      message,
    };
    return { roots: [], diagnostics: [diagnostic], locate };
  }
}

/** Formats plain data as YAML. Escapes invisible characters, which a terminal might interpret. */
export function printYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value !== "string") return;
      // YAML has escapes only in double-quoted scalars.
      if (scalar.value.search(invisible) >= 0) scalar.type = "QUOTE_DOUBLE";
    },
  });
  return document.toString({ lineWidth: 0 }).replace(invisible, escape);
}

/** Control, format (such as bidirectional) and unassigned characters and line separators, except line breaks and tabs. */
const invisible = /[^\P{C}\n\t]|[\u2028\u2029]/gu;

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

/** Returns the first syntax error, as later ones are mostly its consequences, and all duplicate keys. */
function independentErrors(document: Document): readonly YAMLError[] {
  return [...document.errors, ...document.warnings]
    .filter(({ code }, index) => index === 0 || code === "DUPLICATE_KEY");
}

function syntaxErrors(
  document: Document,
  text: string,
  locate: (offset: number) => Location,
): readonly Diagnostic[] {
  const errors = independentErrors(document);
  const firsts = errors.some(({ code }) => code === "DUPLICATE_KEY")
    ? firstOccurrences(document)
    : undefined;
  return errors.map((error) => {
    const { at, message } = explain(error, document, text, locate);
    const first = firsts?.get(error.pos[0]);
    const earlier = first === undefined
      ? ""
      : `; first defined in line ${locate(first).line}`;
    return {
      ...locate(at),
      severity: "error",
      path: "",
      message: message + earlier,
    };
  });
}

/** Explains a syntax error. An unclosed construct is reported where it was opened, which can be far above the parser's position. */
function explain(
  error: YAMLError,
  document: Document,
  text: string,
  locate: (offset: number) => Location,
): { readonly at: number; readonly message: string } {
  const [start] = error.pos;
  const terminator = missingTerminator(error.message);
  const opener = terminator === undefined
    ? undefined
    : openerOf(document, text, terminator, start);
  if (opener !== undefined) {
    const message = unclosedMessage(text.charAt(opener), locate(start));
    return { at: opener, message };
  }
  const around = text.slice(Math.max(0, start - 1), start + 256);
  const before = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  const message = syntaxMessage(error.code, error.message, { before, around });
  return { at: start, message };
}

/** Maps the position of each duplicate key to that of its first occurrence. */
function firstOccurrences(document: Document): ReadonlyMap<number, number> {
  const firsts = new Map<number, number>();
  visit(document, {
    Map(_, { items }) {
      const seen = new Map<unknown, number>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const start = startOf(key, 0);
        const first = seen.get(key.value);
        if (first === undefined) seen.set(key.value, start);
        else firsts.set(start, first);
      }
    },
  });
  return firsts;
}

/** Returns the start of the innermost string or collection that `terminator` should have closed before `end`. */
function openerOf(
  document: Document,
  text: string,
  terminator: string,
  end: number,
): number | undefined {
  const opening = { "}": "{", "]": "[" }[terminator] ?? terminator;
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

function convertDocument(
  document: Document,
  lists: DeferredLists,
): YamlNode | undefined {
  const { contents } = document;
  if (contents === null) return undefined;
  return convert(contents, { document, lists, known: new Map() });
}

interface Conversion {
  readonly document: Document;
  readonly lists: DeferredLists;
  /** Nodes whose conversion has begun: an alias can refer to an enclosing node. */
  readonly known: Map<Node, YamlNode>;
}

function convert(node: Node, conversion: Conversion): YamlNode {
  const { document, lists, known } = conversion;
  const before = known.get(node);
  if (before !== undefined) return before;
  const start = startOf(node, 0);
  const next = (child: Node) => convert(child, conversion);
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
    lists.fill(items, node.items, next);
  } else if (isMap<Node, Node | null>(node)) {
    const entries: YamlEntry[] = [];
    known.set(node, { kind: "map", start, flow: node.flow === true, entries });
    for (const { key, value } of node.items) {
      entries.push({
        ...keyOf(key),
        keyStart: startOf(key, start),
        value: value === null ? undefined : next(value),
      });
    }
  } else if (isScalar(node)) {
    known.set(node, {
      kind: "scalar",
      start,
      end: node.range?.[1] ?? start,
      value: node.value,
      plain: node.type === "PLAIN",
    });
  }
  return known.get(node) ??
    { kind: "scalar", start, end: start, value: null, plain: true };
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
