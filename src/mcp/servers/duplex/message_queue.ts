import type { RpcMessage } from "../../protocol/rpc_messages.ts";

/** Messages for one reader, who is not waited for. */
export class MessageQueue {
  readonly #messages: RpcMessage[] = [];
  readonly #limit: number;
  #wake: (() => void) | undefined;
  #end: { readonly failure: unknown } | undefined;

  /** @param limit Messages that may wait; further ones are dropped. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds a message; returns whether there was room. */
  push(message: RpcMessage): boolean {
    if (this.#messages.length >= this.#limit) return false;
    this.#messages.push(message);
    this.#wake?.();
    return true;
  }

  /** Ends the queue after what waits. @param failure What the reader gets; `undefined` for a regular end. */
  end(failure?: unknown): void {
    this.#end ??= { failure };
    this.#wake?.();
  }

  /** Yields the messages until the end. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RpcMessage, void> {
    for (;;) {
      const next = this.#messages.shift();
      if (next !== undefined) {
        yield next;
        continue;
      }
      if (this.#end?.failure !== undefined) throw this.#end.failure;
      if (this.#end !== undefined) return;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}
