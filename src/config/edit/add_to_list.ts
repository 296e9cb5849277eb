import {
  Document,
  isMap,
  isSeq,
  type Node,
  parseDocument,
  stringifyYaml,
} from "../../base/yaml_library.ts";

/** Keys and indexes that lead to a part of a document, such as `["routes", 0, "policies"]`. */
export type YamlPath = readonly (string | number)[];

/** A text cannot be edited; the message says why. */
export class EditError extends Error {
  /** Always `EditError`. */
  override readonly name = "EditError";
}

/**
 * Adds an item to the end of the list at `path`, which is created if need be. All other lines, comments included, stay as they are.
 * @throws {EditError} When the text is no YAML map, or has something else than a list there.
 */
export function addToList(text: string, path: YamlPath, item: unknown): string {
  const document = parse(text);
  const { node, rest } = deepest(document, path);
  const added = rest.reduceRight<unknown>(
    (inner, key) => ({ [key]: inner }),
    [item],
  );
  const edited = insert(text, node, rest.length === 0 ? [item] : added);
  const expected = parse(text);
  if (rest.length === 0) expected.addIn(path, item);
  else expected.setIn(path, [item]);
  // Aliases, tags and odd indentation: the writer of the library keeps comments, but not the layout.
  return JSON.stringify(valueOf(edited)) === JSON.stringify(expected.toJS())
    ? edited
    : expected.toString({ lineWidth: 0 });
}

/** Returns the value of a document. @throws {EditError} */
export function readYamlMap(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = parse(text).toJS() ?? {};
  return Object.fromEntries(Object.entries(Object(value)));
}

function parse(text: string): Document.Parsed {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) {
    throw new EditError(`the file is not valid YAML: ${error.message}`);
  }
  if (document.contents !== null && !isMap(document.contents)) {
    throw new EditError("the file is not a map");
  }
  return document;
}

/** Returns `undefined` for a text that cannot be parsed. */
function valueOf(text: string): unknown {
  const document = parseDocument(text);
  return document.errors.length === 0 ? document.toJS() : undefined;
}

/** Follows a path to the last node that exists. */
function deepest(
  document: Document.Parsed,
  path: YamlPath,
): { readonly node: Node | null; readonly rest: YamlPath } {
  let node: Node | null = document.contents;
  for (const [depth, key] of path.entries()) {
    const next: unknown = isMap(node) || isSeq(node)
      ? node.get(key, true)
      : undefined;
    if (next === undefined || isEmpty(next)) {
      return { node, rest: path.slice(depth) };
    }
    node = asNode(next, path.slice(0, depth + 1));
  }
  if (!isSeq(node)) throw new EditError(`"${path.join(".")}" is not a list`);
  return { node, rest: [] };
}

/** Reports whether a key has no value, as in `routes:`. */
function isEmpty(node: unknown): boolean {
  return node === null ||
    typeof node === "object" && "value" in node && node.value === null;
}

function asNode(value: unknown, path: YamlPath): Node {
  if (isMap(value) || isSeq(value)) return value;
  throw new EditError(`"${path.join(".")}" is neither a list nor a map`);
}

/** Inserts entries of a map, or items of a list, after the last one of a collection. */
function insert(text: string, node: Node | null, added: unknown): string {
  if (!(isMap(node) || isSeq(node)) || !node.range) {
    return `${text.trimEnd()}${text.trim() === "" ? "" : "\n"}${block(added)}`;
  }
  const [start, end] = node.range;
  const isFlow = text[start] === "[" || text[start] === "{";
  if (isFlow) {
    const isEmpty = node.items.length === 0;
    const at = isEmpty
      ? end - 1
      : text.slice(0, end - 1).trimEnd().replace(/,$/, "").length;
    return `${text.slice(0, at)}${isEmpty ? "" : ", "}${flow(added)}${
      text.slice(at)
    }`;
  }
  const column = start - (text.lastIndexOf("\n", start - 1) + 1);
  const last = text.slice(0, end).trimEnd().length;
  const lineEnd = text.indexOf("\n", last);
  const at = lineEnd === -1 ? text.length : lineEnd;
  const lines = block(added).trimEnd().split("\n")
    .map((line) => `\n${" ".repeat(column)}${line}`).join("");
  return `${text.slice(0, at)}${lines}${text.slice(at)}`;
}

function block(value: unknown): string {
  return stringifyYaml(value, { lineWidth: 0 });
}

/** Formats entries or items without the brackets around them. */
function flow(value: unknown): string {
  const document = new Document(value);
  const { contents } = document;
  if (isMap(contents) || isSeq(contents)) contents.flow = true;
  return document.toString({ lineWidth: 0 }).trim().slice(1, -1).trim();
}
