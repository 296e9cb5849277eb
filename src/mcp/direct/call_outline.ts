import { isUtf8 } from "node:buffer";
import { utf8 } from "../../base/bytes.ts";
import type { JsonRpcId } from "../../base/errors.ts";
import { JsonCursor, jsonNames } from "../../base/json/json_cursor.ts";
import { KIND } from "../../base/json/json_tokens.ts";
import type { ByteSpan } from "../protocol/raw_messages.ts";
import { MAX_DEPTH } from "../protocol/rpc_messages.ts";
import { isAt, LatestText, readInteger, textOf } from "./spans.ts";

/** Longer messages are parsed: walking through them in one go would keep other requests waiting. */
export const MAX_OUTLINED_BYTES = 128 * 1024;
const MAX_ID_LENGTH = 128;
/** Bytes, as comparing characters costs three times as much. */
const VERSION = utf8('"2.0"');
const METHOD = utf8('"tools/call"');
const namePattern = /^[\w-]+$/;

/** A call of a tool with nothing but a name, arguments and `_meta`, as parts of its message. */
export interface CallOutline {
  readonly id: JsonRpcId;
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  /** JSON of the arguments; `undefined` without. */
  readonly args: ByteSpan | undefined;
  /** JSON of `_meta`, one character per byte; empty without. */
  readonly meta: string;
}

const messageNames = jsonNames("jsonrpc", "id", "method", "params");
const paramNames = jsonNames("name", "arguments", "_meta");

/** Finds the parts of a message; `undefined` for anything but an ordinary call, also if it is invalid. */
export function outlineCall(bytes: Uint8Array): CallOutline | undefined {
  const { length } = bytes;
  if (length === 0 || length > MAX_OUTLINED_BYTES) return undefined;
  const message = new MessageReader(bytes);
  return message.readMembers() && isUtf8(bytes) ? message : undefined;
}

/** Parts of the call that was read last: many calls in a row are of one tool. */
const latest = { name: new LatestText(), meta: new LatestText() };

class MessageReader implements CallOutline {
  id: JsonRpcId = "";
  name = "";
  args: ByteSpan | undefined;
  meta = "";
  readonly #json: JsonCursor;

  constructor(bytes: Uint8Array) {
    this.#json = new JsonCursor(bytes, 0, bytes.length, MAX_DEPTH);
  }

  /** Returns false if there are other members than those of an ordinary call, or one of them twice. */
  readMembers(): boolean {
    const json = this.#json;
    if (!json.enter(KIND.OPEN_OBJECT)) return false;
    let found = 0;
    while (json.nextMember()) {
      const name = json.nameIn(messageNames);
      if (name < 0 || (found & 1 << name) !== 0) return false;
      found |= 1 << name;
      if (!this.#readMember(name)) return false;
    }
    return found === 0b1111 && json.isAtEnd;
  }

  #readMember(name: number): boolean {
    const json = this.#json;
    const start = json.at;
    switch (name) {
      case 0:
        return isAt(json.bytes, start, json.skip(), VERSION);
      case 1:
        return this.#readId(json.kind, start, json.skip());
      case 2:
        return isAt(json.bytes, start, json.skip(), METHOD);
      default:
        return this.#readParams();
    }
  }

  #readId(kind: number, start: number, end: number): boolean {
    if (kind === KIND.STRING) {
      this.id = textOf(this.#json.bytes, start + 1, end - 1);
      return this.id.length <= MAX_ID_LENGTH && /^[ !#-[\]-~]*$/.test(this.id);
    }
    this.id = readInteger(this.#json.bytes, start, end);
    return kind === KIND.NUMBER && this.id >= 0;
  }

  #readParams(): boolean {
    const json = this.#json;
    if (!json.enter(KIND.OPEN_OBJECT)) return false;
    let found = 0;
    while (json.nextMember()) {
      const name = json.nameIn(paramNames);
      if (name < 0 || (found & 1 << name) !== 0) return false;
      found |= 1 << name;
      const isRead = name === 0
        ? this.#readName()
        : name === 1
        ? this.#readArguments()
        : this.#readMeta();
      if (!isRead) return false;
    }
    return (found & 1) === 1 && !json.hasFailed;
  }

  #readName(): boolean {
    const { at, kind, bytes } = this.#json;
    const start = at + 1;
    const end = this.#json.skip() - 1;
    if (kind !== KIND.STRING) return false;
    this.name = latest.name.read(bytes, start, end);
    return namePattern.test(this.name);
  }

  #readArguments(): boolean {
    const { at: start, kind, bytes } = this.#json;
    this.args = { bytes, start, end: this.#json.skip() };
    return kind === KIND.OPEN_OBJECT;
  }

  /** A text that begins with a whole object has the object as its value. */
  #readMeta(): boolean {
    const json = this.#json;
    const { bytes, at: start, kind } = json;
    if (kind !== KIND.OPEN_OBJECT) return false;
    const { meta } = latest;
    if (meta.beginsAt(bytes, start)) {
      this.meta = meta.text;
      json.skipKnown(meta.text.length);
      return true;
    }
    const end = json.skip();
    if (json.hasFailed) return false;
    this.meta = meta.read(bytes, start, end);
    return true;
  }
}
