import { Buffer } from "node:buffer";
import { parseRpc } from "../protocol/rpc_messages.ts";
import { type CallOutline, outlineCall } from "./call_outline.ts";

const decoder = new TextDecoder();

/** A text that is decoded and parsed when its value is needed, and at most once. */
export class RpcText {
  readonly #source: string | Uint8Array;
  /** `null` before anybody has asked. */
  #call: CallOutline | undefined | null = null;
  #parsed: { readonly value: unknown } | undefined;

  constructor(source: string | Uint8Array) {
    this.#source = source;
  }

  get text(): string {
    const source = this.#source;
    return typeof source === "string" ? source : decoder.decode(source);
  }

  /** The parts of an ordinary call of a tool; `undefined` for anything else. */
  get call(): CallOutline | undefined {
    if (this.#call === null) {
      const source = this.#source;
      this.#call = outlineCall(
        typeof source === "string" ? Buffer.from(source) : source,
      );
    }
    return this.#call;
  }

  /** The value, without the arguments of an ordinary call. */
  get summary(): unknown {
    const { call } = this;
    return call === undefined
      ? this.value
      : { method: "tools/call", params: { name: call.name } };
  }

  /** As `parseRpc` returns it. */
  get value(): unknown {
    this.#parsed ??= { value: parseRpc(this.text) };
    return this.#parsed.value;
  }
}
