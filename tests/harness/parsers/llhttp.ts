import { Buffer } from "node:buffer";
// @ts-types="./llhttp_wasm.d.ts"
import llhttpWasm from "undici/lib/llhttp/llhttp-wasm.js";

/** A parsed response. */
export interface ParsedResponse {
  readonly status: number;
  /** `[name, value]`, trailers included. */
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
}

interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  malloc(size: number): number;
  free(pointer: number): void;
  llhttp_alloc(type: number): number;
  llhttp_free(parser: number): void;
  llhttp_execute(parser: number, data: number, length: number): number;
  llhttp_finish(parser: number): number;
  llhttp_get_status_code(parser: number): number;
  llhttp_get_error_reason(parser: number): number;
}

const RESPONSE = 2;
/** Returned by `wasm_on_message_complete` to stop after the message. */
const PAUSE = 21;

/** Node's parser from the npm package `undici`, the reference for ours. */
export class Llhttp {
  readonly #exports: Exports;
  #names: string[] = [];
  #values: string[] = [];
  #inValue = false;
  #body = "";
  #complete = false;
  #interim = false;
  #parser = 0;

  /** @param module Compiled by `loadLlhttp`. */
  constructor(module: WebAssembly.Module) {
    const text = (at: number, length: number) =>
      Buffer.from(this.#exports.memory.buffer, at, length).toString("latin1");
    const env = {
      wasm_on_message_begin: () => 0,
      wasm_on_url: () => 0,
      wasm_on_status: () => 0,
      wasm_on_header_field: (_: number, at: number, length: number) => {
        if (this.#inValue || this.#names.length === 0) this.#names.push("");
        this.#inValue = false;
        this.#names[this.#names.length - 1] += text(at, length);
        return 0;
      },
      wasm_on_header_value: (_: number, at: number, length: number) => {
        if (!this.#inValue) this.#values.push("");
        this.#inValue = true;
        this.#values[this.#values.length - 1] += text(at, length);
        return 0;
      },
      wasm_on_headers_complete: () => {
        this.#interim = this.#status() < 200;
        return 0;
      },
      wasm_on_body: (_: number, at: number, length: number) => {
        this.#body += text(at, length);
        return 0;
      },
      wasm_on_message_complete: () => {
        if (this.#interim) {
          this.#clear();
          return 0;
        }
        this.#complete = true;
        return PAUSE;
      },
    };
    const instance = new WebAssembly.Instance(module, { env });
    this.#exports = instance.exports as unknown as Exports;
    this.#exports._initialize();
  }

  /** Returns the first final response in `bytes`, after which the connection ends, or the reason why there is none. */
  parse(bytes: Uint8Array): ParsedResponse | string {
    const { malloc, free, llhttp_alloc, llhttp_free } = this.#exports;
    this.#clear();
    this.#complete = false;
    this.#parser = llhttp_alloc(RESPONSE);
    const data = malloc(bytes.length);
    try {
      new Uint8Array(this.#exports.memory.buffer).set(bytes, data);
      const code = this.#exports.llhttp_execute(
        this.#parser,
        data,
        bytes.length,
      );
      if (code === 0) this.#exports.llhttp_finish(this.#parser);
      return this.#complete ? this.#parsed() : this.#errorReason();
    } finally {
      free(data);
      llhttp_free(this.#parser);
    }
  }

  #parsed(): ParsedResponse {
    return {
      status: this.#status(),
      fields: this.#names.map((name, i) => [name, this.#values[i] ?? ""]),
      body: this.#body,
    };
  }

  #errorReason(): string {
    const { memory, llhttp_get_error_reason } = this.#exports;
    const bytes = new Uint8Array(memory.buffer);
    const at = llhttp_get_error_reason(this.#parser);
    if (at === 0) return "Incomplete";
    return Buffer.from(bytes.subarray(at, bytes.indexOf(0, at))).toString();
  }

  #status(): number {
    return this.#exports.llhttp_get_status_code(this.#parser);
  }

  #clear(): void {
    this.#names = [];
    this.#values = [];
    this.#inValue = false;
    this.#body = "";
  }
}

/** Loads the parser. */
export async function loadLlhttp(): Promise<Llhttp> {
  return new Llhttp(await WebAssembly.compile(new Uint8Array(llhttpWasm)));
}
