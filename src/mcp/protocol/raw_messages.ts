import { Buffer } from "node:buffer";
import type { JsonRpcId } from "../../base/errors.ts";

const MEMBER = ',"_meta":';
/** Up to so many bytes, a loop is faster than a copy by the engine. */
const SHORT_PART = 64;

/** A part of other bytes. */
export interface ByteSpan {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Writes parts of a message one after the other. */
class RawWriter {
  readonly bytes: Uint8Array;
  #at = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafe(length);
  }

  /** Writes ASCII characters; for so few, a loop is faster than an encoder. */
  text(text: string): void {
    const { bytes } = this;
    let at = this.#at;
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
    this.#at = at;
  }

  raw(part: Uint8Array): void {
    this.bytes.set(part, this.#at);
    this.#at += part.length;
  }

  span(source: Uint8Array, start: number, end: number): void {
    if (end - start > SHORT_PART) return this.raw(source.subarray(start, end));
    const { bytes } = this;
    let at = this.#at;
    for (let from = start; from < end; from++) bytes[at++] = source[from] ?? 0;
    this.#at = at;
  }
}

/**
 * Writes a call of a tool.
 * @param tool Letters, digits, `_` and `-`.
 * @param args JSON of the arguments.
 * @param meta JSON of `_meta`.
 */
export function writeRawCall(
  id: number,
  tool: string,
  args: ByteSpan | undefined,
  meta: Uint8Array | undefined,
): Uint8Array {
  const start =
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}"`;
  const named = args === undefined ? "" : ',"arguments":';
  const metaName = meta === undefined ? "" : MEMBER;
  const end = "}}";
  const message = new RawWriter(
    start.length + named.length +
      (args === undefined ? 0 : args.end - args.start) + metaName.length +
      (meta?.length ?? 0) + end.length,
  );
  message.text(start);
  message.text(named);
  if (args !== undefined) message.span(args.bytes, args.start, args.end);
  message.text(metaName);
  if (meta !== undefined) message.raw(meta);
  message.text(end);
  return message.bytes;
}

/** Parts of the response to a request. */
export interface RawResult {
  /** Of ASCII characters. */
  readonly id: JsonRpcId;
  /** Members before those of `source`, such as `"resultType":"complete"`; empty for none. */
  readonly first: string;
  readonly source: Uint8Array;
  /** Start and end of each member in `source`. */
  readonly members: readonly number[];
  /** JSON of `_meta`. */
  readonly meta: Uint8Array | undefined;
}

/** Writes the response to a request. @param before ASCII characters before it. @param after The same after it. */
export function writeRawResult(
  { id, first, source, members, meta }: RawResult,
  before = "",
  after = "",
): Uint8Array {
  const idText = typeof id === "number" ? String(id) : JSON.stringify(id);
  const start = `${before}{"jsonrpc":"2.0","id":${idText},"result":{${first}`;
  const isFirst = first === "";
  const metaName = meta === undefined
    ? ""
    : isFirst && members.length === 0
    ? MEMBER.slice(1)
    : MEMBER;
  const end = `}}${after}`;
  let length = start.length + metaName.length + (meta?.length ?? 0) +
    end.length;
  for (let i = 0; i < members.length; i += 2) {
    length += (members[i + 1] ?? 0) - (members[i] ?? 0) +
      (isFirst && i === 0 ? 0 : 1);
  }
  const message = new RawWriter(length);
  message.text(start);
  for (let i = 0; i < members.length; i += 2) {
    if (!isFirst || i > 0) message.text(",");
    message.span(source, members[i] ?? 0, members[i + 1] ?? 0);
  }
  message.text(metaName);
  if (meta !== undefined) message.raw(meta);
  message.text(end);
  return message.bytes;
}
