import { Buffer } from "node:buffer";
import type { HeaderList } from "../../../http/header_list.ts";
import type { Body } from "../../../http/body.ts";

/** A part of a body, and the ASCII text that takes its place. */
export interface Replacement {
  /** Index of its first byte. */
  readonly at: number;
  readonly from: string;
  /** As long as `from`. */
  readonly to: string;
}

/** A body whose first chunk has a text replaced by one of the same length; unchanged where that chunk has another text. */
export class RestampedBody implements Body {
  readonly length: number | undefined;
  readonly #source: Body;
  #replacement: Replacement | undefined;

  constructor(source: Body, replacement: Replacement) {
    this.length = source.length;
    this.#source = source;
    this.#replacement = replacement;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  read(): ReturnType<Body["read"]> {
    const replacement = this.#replacement;
    const next = this.#source.read();
    if (replacement === undefined) return next;
    this.#replacement = undefined;
    return next instanceof Promise
      ? next.then((chunk) => replace(chunk, replacement))
      : replace(next, replacement);
  }

  cancel(reason: unknown): void {
    this.#source.cancel(reason);
  }
}

/** Returns a copy: other attempts read the same bytes. */
function replace(
  chunk: Uint8Array | undefined,
  { at, from, to }: Replacement,
): Uint8Array | undefined {
  if (chunk === undefined) return undefined;
  const bytes = Buffer.from(chunk);
  if (bytes.toString("latin1", at, at + from.length) !== from) return chunk;
  bytes.write(to, at, "latin1");
  return bytes;
}
