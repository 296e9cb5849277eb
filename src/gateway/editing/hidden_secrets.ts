import type { ConfigText } from "../../config/diagnostics/located_diagnostic.ts";
import type { SourceScalars } from "../../config/source_secrets.ts";

/** Shorter secrets occur in other words by chance: comments and messages show them. */
const MIN_SECRET_LENGTH = 8;

const COMMENT = "a comment";

/** A part of a source that a placeholder stands for. */
interface HiddenPart {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  /** As it is written, quotes included. */
  readonly written: string;
  readonly place: string;
}

/** A placeholder in a text, and what it stands for. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly written: string;
  readonly isComment: boolean;
}

/** A text, some parts of which were replaced. */
export interface RestoredText {
  readonly text: string;
  /** Offsets in `text` of the secrets that were put back. */
  readonly restored: readonly number[];
  /** Converts an offset in `text` to one in the text before. */
  toDraft(offset: number): number;
}

/** Takes the secrets out of the texts of a configuration by their places, and puts them back: each is replaced by `<redacted N>`. */
export class HiddenSecrets {
  /** The placeholder of a part is its index and one. */
  readonly #parts: readonly HiddenPart[];
  /** Values of secrets, longest first. */
  readonly #values: readonly string[];

  /** @param scalars Of each source. */
  constructor(
    sources: readonly ConfigText[],
    scalars: readonly SourceScalars[],
  ) {
    const values = scalars.flatMap((each) => each.private)
      .filter(({ isSecret }) => isSecret).map(({ value }) => String(value));
    this.#values = [...new Set(values)]
      .filter(({ length }) => length >= MIN_SECRET_LENGTH)
      .toSorted((a, b) => b.length - a.length);
    this.#parts = sources.flatMap((source, index) =>
      partsOf(source, scalars[index], this.#values)
    );
  }

  /** Returns the text of a source without secrets. */
  hide(source: ConfigText): string {
    return this.#hidden(source).text;
  }

  /** Puts all secrets back into the text that `hide` returns. */
  restoreAll(source: ConfigText): RestoredText {
    const { text, pieces } = this.#hidden(source);
    return putBack(text, pieces);
  }

  /**
   * Puts secrets back where their placeholders are still in the same field. All other placeholders stay; a configuration
   * that has any is invalid.
   */
  restore(text: string, scalars: SourceScalars): RestoredText {
    const pieces = [
      ...this.#fieldsOf(scalars),
      ...this.#commentsOf(text, scalars),
    ];
    return putBack(text, pieces.toSorted((a, b) => a.start - b.start));
  }

  /** Removes secrets from a message. */
  clean(message: string): string {
    return this.#values.reduce(
      (text, secret) => text.replaceAll(secret, "<redacted>"),
      message,
    );
  }

  #hidden({ name, text }: ConfigText) {
    const pieces: Piece[] = [];
    let shown = "";
    let end = 0;
    for (const [index, { file, start, ...part }] of this.#parts.entries()) {
      if (file !== name) continue;
      const { written } = part;
      const quote = /^["']/.exec(written)?.[0] ?? "";
      shown += text.slice(end, start);
      const from = shown.length;
      shown += `${quote}<redacted ${index + 1}>${quote}`;
      const isComment = part.place === COMMENT;
      pieces.push({ start: from, end: shown.length, written, isComment });
      end = part.end;
    }
    return { text: shown + text.slice(end), pieces };
  }

  /** Yields the placeholders of a draft that stand in the field of their secret. */
  *#fieldsOf(scalars: SourceScalars): Generator<Piece> {
    for (const { start, end, value, place } of scalars.private) {
      const [, number] = /^<redacted ([0-9]+)>$/.exec(String(value)) ?? [];
      const part = this.#parts[Number(number) - 1];
      if (part?.place !== place) continue;
      yield { start, end, written: part.written, isComment: false };
    }
  }

  *#commentsOf(source: string, scalars: SourceScalars): Generator<Piece> {
    for (const { start: from, text } of commentsOf(source, scalars)) {
      for (const { index, 0: found, 1: number } of text.matchAll(numbered)) {
        const part = this.#parts[Number(number) - 1];
        if (part?.place !== COMMENT) continue;
        const start = from + index;
        const end = start + found.length;
        yield { start, end, written: part.written, isComment: true };
      }
    }
  }
}

/** Replaces placeholders, in the order of the text, with what they stand for. */
function putBack(text: string, pieces: readonly Piece[]): RestoredText {
  let result = "";
  let end = 0;
  const restored: number[] = [];
  const moves: {
    readonly from: number;
    readonly to: number;
    readonly end: number;
  }[] = [];
  for (const piece of pieces) {
    result += text.slice(end, piece.start);
    if (!piece.isComment) restored.push(result.length);
    moves.push({ from: result.length, to: piece.start, end: piece.end });
    result += piece.written;
    moves.push({ from: result.length, to: piece.end, end: Infinity });
    end = piece.end;
  }
  return {
    text: result + text.slice(end),
    restored,
    toDraft(offset) {
      const move = moves.findLast(({ from }) => from <= offset);
      if (move === undefined) return offset;
      return Math.min(move.to + offset - move.from, move.end);
    },
  };
}

const numbered = /<redacted ([0-9]+)>/g;

/** Returns the secret fields of a source, and comments that repeat them. */
function partsOf(
  { name, text }: ConfigText,
  scalars: SourceScalars | undefined,
  values: readonly string[],
): readonly HiddenPart[] {
  if (scalars === undefined) return [];
  const parts: HiddenPart[] = scalars.private.filter(({ isSecret }) => isSecret)
    .map(({ start, end, place }) => {
      const written = text.slice(start, end).trimEnd();
      return { file: name, start, end: start + written.length, written, place };
    });
  for (const { start, text: comment } of commentsOf(text, scalars)) {
    let rest = comment;
    for (const written of values) {
      for (
        let at = rest.indexOf(written);
        at >= 0;
        at = rest.indexOf(written)
      ) {
        const from = start + at;
        const end = from + written.length;
        parts.push({ file: name, start: from, end, written, place: COMMENT });
        // A shorter secret may be a part of this one.
        rest = rest.slice(0, at) + "\0".repeat(written.length) +
          rest.slice(at + written.length);
      }
    }
  }
  return parts.toSorted((a, b) => a.start - b.start);
}

/** Yields the comments of a source: from a `#` that is in no scalar to the end of its line. */
function* commentsOf(
  text: string,
  scalars: SourceScalars,
): Generator<{ readonly start: number; readonly text: string }> {
  for (
    let start = text.indexOf("#");
    start >= 0;
    start = text.indexOf("#", start + 1)
  ) {
    const isStart = start === 0 || /\s/.test(text.charAt(start - 1));
    if (!isStart || scalars.isWithin(start)) continue;
    const lineEnd = text.indexOf("\n", start);
    const end = lineEnd < 0 ? text.length : lineEnd;
    yield { start, text: text.slice(start, end) };
    start = end;
  }
}
