import { createHash } from "node:crypto";

/** A piece of a prompt, in the order in which providers cache it. */
interface Piece {
  readonly text: string;
  /** The prompt is to be cached up to and with this piece. */
  readonly isMarked: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** Prices of input, in relation to plain input. */
const READ = 0.1;
const WRITE = 1.25;
/** Pieces before a mark in which Anthropic and Bedrock look for an earlier one. */
const LOOK_BACK = 20;

/**
 * A prompt cache that bills requests as a provider does: where prompts need marks (Anthropic, Bedrock), tokens up to a mark are
 * written, and read up to an earlier mark; elsewhere, the longest known beginning is read.
 */
export class BilledPromptCache {
  readonly #piecesOf: (body: Json) => readonly Piece[];
  readonly #needsMarks: boolean;
  readonly #known = new Set<string>();
  #before = 0;
  /** Cost of all requests, in bytes of plain input. */
  cost = 0;
  /** Cost with a cache that misses nothing of the request before. */
  ideal = 0;

  constructor(family: keyof typeof families) {
    const { needsMarks, piecesOf } = families[family];
    this.#needsMarks = needsMarks;
    this.#piecesOf = piecesOf;
  }

  /** Bills a request. */
  bill(body: Json): void {
    const pieces = this.#piecesOf(body);
    const prefixes = prefixesOf(pieces);
    const total = prefixes.at(-1)?.length ?? 0;
    const read = this.#readable(pieces, prefixes);
    const last = pieces.findLastIndex(({ isMarked }) => isMarked);
    const end = this.#needsMarks ? prefixes[last]?.length ?? 0 : 0;
    const written = Math.max(0, end - read);
    this.cost += READ * read + WRITE * written + (total - read - written);
    const added = total - this.#before;
    this.ideal += READ * this.#before + (this.#needsMarks ? WRITE : 1) * added;
    this.#before = total;
    for (const [index, { hash }] of prefixes.entries()) {
      const isKept = !this.#needsMarks || pieces[index]?.isMarked === true;
      if (isKept) this.#known.add(hash);
    }
  }

  #readable(
    pieces: readonly Piece[],
    prefixes: readonly { readonly hash: string; readonly length: number }[],
  ): number {
    const found = prefixes.findLastIndex(({ hash }, index) =>
      this.#known.has(hash) &&
      (!this.#needsMarks ||
        pieces.slice(index, index + LOOK_BACK).some(({ isMarked }) => isMarked))
    );
    return prefixes[found]?.length ?? 0;
  }
}

function prefixesOf(pieces: readonly Piece[]) {
  let hash = "";
  let length = 0;
  return pieces.map(({ text }) => {
    hash = createHash("sha256").update(hash + text).digest("hex");
    length += text.length;
    return { hash, length };
  });
}

function listOf(value: unknown): readonly Json[] {
  if (typeof value === "string") return [{ text: value }];
  return Array.isArray(value) ? value : [];
}

/** Pieces whose marks are a field. */
function fieldMarked(items: readonly Json[], name: string): readonly Piece[] {
  return items.map(({ [name]: mark, ...item }) => ({
    text: JSON.stringify(item),
    isMarked: mark !== undefined,
  }));
}

/** Pieces whose marks follow them. */
function pointMarked(items: readonly Json[]): readonly Piece[] {
  return items.flatMap((item, index) =>
    "cachePoint" in item ? [] : [{
      text: JSON.stringify(item),
      isMarked: items[index + 1]?.["cachePoint"] !== undefined,
    }]
  );
}

function unmarked(items: readonly unknown[]): readonly Piece[] {
  return items.map((item) => ({ text: JSON.stringify(item), isMarked: false }));
}

const families = {
  anthropic: {
    needsMarks: true,
    piecesOf: ({ tools, system, messages }: Json) =>
      [
        ...[listOf(tools), listOf(system)],
        ...listOf(messages).map(({ content }) => listOf(content)),
      ].flatMap((items) => fieldMarked(items, "cache_control")),
  },
  bedrock: {
    needsMarks: true,
    piecesOf: ({ toolConfig, system, messages }: Json) =>
      [
        ...[listOf(Object(toolConfig).tools), listOf(system)],
        ...listOf(messages).map(({ content }) => listOf(content)),
      ].flatMap(pointMarked),
  },
  openai: {
    needsMarks: false,
    piecesOf: ({ tools, messages }: Json) =>
      unmarked([tools, ...listOf(messages)]),
  },
  gemini: {
    needsMarks: false,
    piecesOf: ({ tools, systemInstruction, contents }: Json) =>
      unmarked([systemInstruction, tools, ...listOf(contents)]),
  },
};
