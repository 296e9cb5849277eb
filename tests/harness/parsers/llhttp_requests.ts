/**
 * The parser of Node.js as a reference for requests.
 *
 * @module
 */
import { Buffer } from "node:buffer";
// @ts-types="./llhttp_wasm.d.ts"
import llhttpWasm from "undici/lib/llhttp/llhttp-wasm.js";

const REQUEST = 1;
const PAUSED_UPGRADE = "HPE_PAUSED_UPGRADE";

/** A parsed message; strings have one character per byte. */
export interface ParsedMessage {
  method: string;
  target: string;
  headers: [string, string][];
  body: string;
  complete: boolean;
}

/** The parsed bytes of a connection. */
export interface ParsedStream {
  readonly messages: ParsedMessage[];
  /** The error code, such as `HPE_INVALID_METHOD`. */
  readonly error: string | undefined;
}

interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize?(): void;
  llhttp_alloc(type: number): number;
  llhttp_free(parser: number): void;
  llhttp_execute(parser: number, data: number, length: number): number;
  llhttp_get_method(parser: number): number;
  llhttp_method_name(method: number): number;
  llhttp_errno_name(errno: number): number;
  malloc(size: number): number;
  free(pointer: number): void;
}

let messages: ParsedMessage[] = [];
let inValue = true;
let parser = 0;

const wasm = await WebAssembly.instantiate(
  await WebAssembly.compile(new Uint8Array(llhttpWasm)),
  {
    env: {
      wasm_on_message_begin: () => {
        messages.push({
          method: "",
          target: "",
          headers: [],
          body: "",
          complete: false,
        });
        inValue = true;
        return 0;
      },
      wasm_on_url: (_: number, at: number, length: number) => {
        last().target += textAt(at, length);
        return 0;
      },
      wasm_on_status: () => 0,
      wasm_on_header_field: (_: number, at: number, length: number) => {
        if (inValue) last().headers.push(["", ""]);
        inValue = false;
        lastField()[0] += textAt(at, length);
        return 0;
      },
      wasm_on_header_value: (_: number, at: number, length: number) => {
        inValue = true;
        lastField()[1] += textAt(at, length);
        return 0;
      },
      wasm_on_headers_complete: () => {
        last().method = cString(
          exports.llhttp_method_name(exports.llhttp_get_method(parser)),
        );
        return 0;
      },
      wasm_on_body: (_: number, at: number, length: number) => {
        last().body += textAt(at, length);
        return 0;
      },
      wasm_on_message_complete: () => {
        last().complete = true;
        return 0;
      },
    },
  },
);
const exports = wasm.exports as unknown as Exports;
exports._initialize?.();

/** Parses requests until the bytes end or llhttp rejects them in strict mode. */
export function parseWithLlhttp(text: string): ParsedStream {
  messages = [];
  parser = exports.llhttp_alloc(REQUEST);
  const bytes = Buffer.from(text, "latin1");
  const pointer = exports.malloc(bytes.length + 1);
  new Uint8Array(exports.memory.buffer).set(bytes, pointer);
  const errno = exports.llhttp_execute(parser, pointer, bytes.length);
  const error = errno === 0
    ? undefined
    : cString(exports.llhttp_errno_name(errno));
  exports.free(pointer);
  exports.llhttp_free(parser);
  // The caller removes trailing blanks of a value.
  for (const field of messages.flatMap(({ headers }) => headers)) {
    field[1] = field[1].replace(/[ \t]+$/, "");
  }
  return { messages, error: error === PAUSED_UPGRADE ? undefined : error };
}

function last(): ParsedMessage {
  const message = messages.at(-1);
  if (message === undefined) throw new TypeError("No message has begun");
  return message;
}

function lastField(): [string, string] {
  const field = last().headers.at(-1);
  if (field === undefined) throw new TypeError("No field has begun");
  return field;
}

function textAt(at: number, length: number): string {
  return Buffer.from(exports.memory.buffer, at, length).toString("latin1");
}

function cString(at: number): string {
  const bytes = Buffer.from(exports.memory.buffer, at);
  return bytes.toString("latin1", 0, bytes.indexOf(0));
}
