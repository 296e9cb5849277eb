import { allocateBytes, utf8 } from "../../base/bytes.ts";
import type { JsonRpcId } from "../../base/errors.ts";
import type { Era } from "./revisions.ts";

/** Constant parts are bytes: writing their characters one by one costs ten times as much. */
const BEGIN = utf8('{"jsonrpc":"2.0","id":');
const ARGUMENTS = utf8(',"arguments":');
const META = utf8(',"_meta":');
const FIRST_META = utf8('"_meta":');
const END = utf8("}}");
const nothing = new Uint8Array();
/** Up to so many bytes, a loop is faster than a view for a copy by the engine. */
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
    this.bytes = allocateBytes(length);
  }

  /** Writes ASCII characters, of which there are few. */
  text(text: string): void {
    const { bytes } = this;
    let at = this.#at;
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
    this.#at = at;
  }

  raw(part: Uint8Array): void {
    if (part.length === 0) return;
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
 * @param args JSON of the arguments.
 * @param meta JSON of `_meta`.
 */
export type WriteCall = (
  id: number,
  args: ByteSpan | undefined,
  meta: Uint8Array | undefined,
) => Uint8Array;

/** Prepares calls of a tool. @param tool Letters, digits, `_` and `-`. */
export function callWriter(tool: string): WriteCall {
  // A copy: it is kept for long, and would keep a whole pool.
  const named = utf8(`,"method":"tools/call","params":{"name":"${tool}"`)
    .slice();
  return (id, args, meta) => {
    const idText = String(id);
    const argsLength = args && ARGUMENTS.length + args.end - args.start;
    const metaLength = meta && META.length + meta.length;
    const message = new RawWriter(
      BEGIN.length + idText.length + named.length + (argsLength ?? 0) +
        (metaLength ?? 0) + END.length,
    );
    message.raw(BEGIN);
    message.text(idText);
    message.raw(named);
    if (args !== undefined) {
      message.raw(ARGUMENTS);
      message.span(args.bytes, args.start, args.end);
    }
    if (meta !== undefined) {
      message.raw(META);
      message.raw(meta);
    }
    message.raw(END);
    return message.bytes;
  };
}

/** Begins the members of a result, after the id. */
const resultBegin: Readonly<Record<Era, Uint8Array>> = {
  modern: utf8(',"result":{"resultType":"complete"'),
  legacy: utf8(',"result":{'),
};

/** Parts of the response to a request. */
export interface RawResult {
  /** Of ASCII characters. */
  readonly id: JsonRpcId;
  /** Era of the client. */
  readonly era: Era;
  readonly source: Uint8Array;
  /** Start and end of each member in `source`. */
  readonly members: readonly number[];
  /** JSON of `_meta`. */
  readonly meta: Uint8Array | undefined;
}

/** Writes the response to a request. @param before ASCII characters before it. @param after The same after it. */
export function writeRawResult(
  { id, era, source, members, meta }: RawResult,
  before = "",
  after = "",
): Uint8Array {
  const idText = typeof id === "number" ? String(id) : JSON.stringify(id);
  const begin = resultBegin[era];
  const isFirst = era === "legacy";
  const metaName = meta === undefined
    ? nothing
    : isFirst && members.length === 0
    ? FIRST_META
    : META;
  let length = before.length + BEGIN.length + idText.length + begin.length +
    metaName.length + (meta?.length ?? 0) + END.length + after.length;
  for (let i = 0; i < members.length; i += 2) {
    length += (members[i + 1] ?? 0) - (members[i] ?? 0) +
      (isFirst && i === 0 ? 0 : 1);
  }
  const message = new RawWriter(length);
  message.text(before);
  message.raw(BEGIN);
  message.text(idText);
  message.raw(begin);
  for (let i = 0; i < members.length; i += 2) {
    if (!isFirst || i > 0) message.text(",");
    message.span(source, members[i] ?? 0, members[i + 1] ?? 0);
  }
  message.raw(metaName);
  if (meta !== undefined) message.raw(meta);
  message.raw(END);
  message.text(after);
  return message.bytes;
}
