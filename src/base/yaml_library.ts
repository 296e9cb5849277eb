import {
  Composer,
  type CST,
  type Document,
  isMap,
  isSeq,
  Lexer,
  type LineCounter,
  Parser,
} from "yaml";

export {
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parse as parseYaml,
  parseDocument,
  stringify as stringifyYaml,
  visit,
  type YAMLError,
} from "yaml";

const TOKENS_PER_STEP = 256;

/** Returns the values of all documents of a YAML stream. @throws {YAMLError} */
export function parseAllYaml(text: string): unknown[] {
  const composer = createComposer();
  const documents = composer.compose(new Parser().parse(text));
  return [...documents].map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS();
  });
}

/**
 * Parses all documents of a YAML stream in steps, with the result of `parseAllDocuments`.
 *
 * The package composes a document in one call, which takes 20 ms per 1,000 routes. So long lists are composed a few items at a time.
 */
export function* compose(
  text: string,
  lineCounter: LineCounter,
): Generator<void, readonly Document.Parsed[]> {
  const tokens = yield* parse(text, lineCounter);
  // Directives concern all parts of a document.
  return tokens.some(({ type }) => type === "directive")
    ? [...createComposer().compose(tokens)]
    : yield* composeInParts(tokens);
}

function createComposer(): Composer {
  return new Composer({ prettyErrors: false, merge: true });
}

function* parse(
  text: string,
  lineCounter: LineCounter,
): Generator<void, readonly CST.Token[]> {
  const parser = new Parser(lineCounter.addNewLine);
  const tokens: CST.Token[] = [];
  let count = 0;
  lineCounter.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (++count % TOKENS_PER_STEP === 0) yield;
  }
  tokens.push(...parser.end());
  return tokens;
}

type List = CST.BlockSequence | CST.FlowCollection;

/** Shorter lists are composed at once. */
const ITEMS_PER_STEP = 16;

/** Limit of items with an error, or near one, in a list: further errors are not reported. */
const MAX_FAULTY_ITEMS = 512;

/**
 * Composes long lists in parts, and puts the parts into the documents. In a document with errors, long lists have only the items
 * around errors, on which messages and places depend.
 */
function* composeInParts(
  tokens: readonly CST.Token[],
): Generator<void, readonly Document.Parsed[]> {
  const lists: ComposedLists = new Map();
  for (const list of tokens.flatMap((token) => [...longListsOf(token)])) {
    const last = list.items.length - 1;
    const composed: ComposedList = { nodes: [], kept: new Set([last]) };
    for (let from = 0; from < last; from += ITEMS_PER_STEP) {
      const to = Math.min(from + ITEMS_PER_STEP, last);
      const nodes = composeItems(list, from, to);
      if (nodes !== undefined) composed.nodes.push(...nodes);
      else keepItems(composed, from, to);
      yield;
    }
    if (!hasCommas(list, last, last + 1)) keepItems(composed, last, last + 1);
    lists.set(list.offset, composed);
  }
  let documents = composeShortened(tokens, lists);
  if (!documents.every(isSound)) {
    for (const list of lists.values()) {
      const last = Math.max(...list.kept);
      keepItems(list, last, last + 1);
    }
    documents = composeShortened(tokens, lists);
  }
  for (const document of documents) {
    if (isSound(document)) complete(document.contents, lists);
  }
  yield;
  return documents;
}

/** Long lists by their offset. */
type ComposedLists = Map<number, ComposedList>;

interface ComposedList {
  /** Nodes of all items except the last one; incomplete if some are faulty. */
  readonly nodes: unknown[];
  /** Indexes of the items that the shortened list has: the last one, which tells where the list ends, and those around errors. */
  readonly kept: Set<number>;
}

/** Keeps the items `[from, to)` and the one before, after which an error may be reported. */
function keepItems({ kept }: ComposedList, from: number, to: number): void {
  if (kept.size > MAX_FAULTY_ITEMS) return;
  for (const index of range(Math.max(0, from - 1), to)) kept.add(index);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** Finds long lists that are values of mappings, or of a document. */
function* longListsOf(token: CST.Token | undefined): Generator<List> {
  switch (token?.type) {
    case "document":
      return yield* longListsOf(token.value);
    case "block-map":
    case "block-seq":
    case "flow-collection":
      if (isMapping(token)) {
        for (const { value } of token.items) yield* longListsOf(value);
      } else if (token.items.length > ITEMS_PER_STEP) yield token;
  }
}

function isMapping(
  token: CST.BlockMap | List,
): token is CST.BlockMap | CST.FlowCollection {
  return token.type === "block-map" ||
    token.type === "flow-collection" && token.start.source === "{";
}

function composeShortened(
  tokens: readonly CST.Token[],
  lists: ComposedLists,
): Document.Parsed[] {
  const shortened = tokens.map((token) => shorten(token, lists));
  return [...createComposer().compose(shortened)];
}

/** Returns a copy in which long lists have only the items to keep. */
function shorten(token: CST.Token, lists: ComposedLists): CST.Token {
  const shortenValue = <Item extends { readonly value?: CST.Token }>(
    item: Item,
  ): Item =>
    item.value === undefined
      ? item
      : { ...item, value: shorten(item.value, lists) };

  if (token.type === "document") return shortenValue(token);
  if (token.type === "block-map") {
    return { ...token, items: token.items.map(shortenValue) };
  }
  if (token.type !== "block-seq" && token.type !== "flow-collection") {
    return token;
  }
  const list = lists.get(token.offset);
  if (list !== undefined) return withItems(token, list.kept);
  return token.type === "flow-collection" && isMapping(token)
    ? { ...token, items: token.items.map(shortenValue) }
    : token;
}

/** Returns whether items in brackets have a comma between them, and no other. */
function hasCommas(list: List, from: number, to: number): boolean {
  return list.type === "block-seq" ||
    list.items.slice(from, to).every(({ start, value }, i) =>
      value !== undefined &&
      start.filter(isComma).length === Math.min(from + i, 1)
    );
}

/** Returns a copy of a list with some of its items. */
function withItems(list: List, indexes: Iterable<number>): List {
  const sorted = [...indexes].sort((a, b) => a - b);
  if (list.type === "block-seq") {
    return { ...list, items: sorted.flatMap((i) => list.items[i] ?? []) };
  }
  const [first] = sorted;
  const items = sorted.flatMap((i) => {
    const item = list.items[i];
    if (item === undefined || i === 0 || i !== first) return item ?? [];
    return { ...item, start: item.start.filter((each) => !isComma(each)) };
  });
  return { ...list, items };
}

function isComma({ type }: CST.SourceToken): boolean {
  return type === "comma";
}

/** Composes the items `[from, to)` of a list; returns `undefined` if there is an error. */
function composeItems(
  list: List,
  from: number,
  to: number,
): readonly unknown[] | undefined {
  if (!hasCommas(list, from, to)) return undefined;
  const { offset } = list;
  const value = withItems(list, range(from, to));
  const [document] = createComposer().compose([
    { type: "document", offset, start: [], value },
  ]);
  if (document === undefined || !isSound(document)) return undefined;
  return isSeq(document.contents) ? document.contents.items : undefined;
}

function isSound({ errors, warnings }: Document): boolean {
  return errors.length === 0 && warnings.length === 0;
}

/** Puts the items before the last one back into the lists that were shortened. */
function complete(
  node: unknown,
  lists: ComposedLists,
): void {
  if (isMap(node)) {
    for (const { value } of node.items) complete(value, lists);
  } else if (isSeq(node) && node.range) {
    const list = lists.get(node.range[0]);
    if (list === undefined) return;
    node.items = [...list.nodes, ...node.items.slice(-1)];
  }
}
