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
  visit,
  type YAMLError,
} from "yaml";

const TOKENS_PER_STEP = 256;

/**
 * Parses all documents of a YAML stream in steps, with the result of `parseAllDocuments`.
 *
 * The package composes a document in one call, which takes 20 ms per 1,000 routes. So long lists are composed a few items at a time.
 * Documents with errors are composed again in one call: messages and places depend on what is around an error.
 */
export function* compose(
  text: string,
  lineCounter: LineCounter,
): Generator<void, readonly Document.Parsed[]> {
  const tokens = yield* parse(text, lineCounter);
  const documents = yield* composeInParts(tokens);
  return documents ?? [...createComposer().compose(tokens)];
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

/** Returns `undefined` when a document has an error or a warning, or directives, which parts of it would not know. */
function* composeInParts(
  tokens: readonly CST.Token[],
): Generator<void, readonly Document.Parsed[] | undefined> {
  if (tokens.some(({ type }) => type === "directive")) return undefined;
  const longLists: List[] = [];
  const shortened = tokens.map((token) => shorten(token, longLists));
  const itemsByOffset = new Map<number, readonly unknown[]>();
  for (const list of longLists) {
    const items: unknown[] = [];
    const end = list.items.length - 1;
    for (let from = 0; from < end; from += ITEMS_PER_STEP) {
      const part = slice(list, from, Math.min(from + ITEMS_PER_STEP, end));
      const found = composeItems(part);
      if (found === undefined) return undefined;
      items.push(...found);
      yield;
    }
    itemsByOffset.set(list.offset, items);
  }
  const documents = [...createComposer().compose(shortened)];
  if (!documents.every(isSound)) return undefined;
  for (const { contents } of documents) complete(contents, itemsByOffset);
  yield;
  return documents;
}

/** Returns a copy in which long lists, also those in mappings, have their last item alone: it tells where the list ends. */
function shorten(token: CST.Token, longLists: List[]): CST.Token {
  const shortenValue = <Item extends { readonly value?: CST.Token }>(
    item: Item,
  ): Item =>
    item.value === undefined
      ? item
      : { ...item, value: shorten(item.value, longLists) };

  switch (token.type) {
    case "document":
      return shortenValue(token);
    case "block-map":
      return { ...token, items: token.items.map(shortenValue) };
    case "block-seq":
    case "flow-collection": {
      if (token.type === "flow-collection" && token.start.source === "{") {
        return { ...token, items: token.items.map(shortenValue) };
      }
      const count = token.items.length;
      if (count <= ITEMS_PER_STEP || !canBeSliced(token)) return token;
      longLists.push(token);
      return slice(token, count - 1, count);
    }
    default:
      return token;
  }
}

/** In brackets, errors about commas depend on the items around them. */
function canBeSliced(list: List): boolean {
  return list.type === "block-seq" ||
    list.items.every(({ start, value }, index) =>
      value !== undefined &&
      start.filter(isComma).length === Math.min(index, 1)
    );
}

function slice(list: List, from: number, to: number): List {
  if (list.type === "block-seq") {
    return { ...list, items: list.items.slice(from, to) };
  }
  const items = list.items.slice(from, to).map((item, index) =>
    index > 0
      ? item
      : { ...item, start: item.start.filter((token) => !isComma(token)) }
  );
  return { ...list, items };
}

function isComma({ type }: CST.SourceToken): boolean {
  return type === "comma";
}

function composeItems(list: List): readonly unknown[] | undefined {
  const { offset } = list;
  const tokens: CST.Token[] = [
    { type: "document", offset, start: [], value: list },
  ];
  const [document] = createComposer().compose(tokens);
  if (document === undefined || !isSound(document)) return undefined;
  return isSeq(document.contents) ? document.contents.items : undefined;
}

function isSound({ errors, warnings }: Document): boolean {
  return errors.length === 0 && warnings.length === 0;
}

/** Puts the items before the last one back into the lists that were shortened. */
function complete(
  node: unknown,
  itemsByOffset: ReadonlyMap<number, readonly unknown[]>,
): void {
  if (isMap(node)) {
    for (const { value } of node.items) complete(value, itemsByOffset);
  } else if (isSeq(node) && node.range) {
    const items = itemsByOffset.get(node.range[0]);
    if (items !== undefined) node.items = [...items, ...node.items];
  }
}
