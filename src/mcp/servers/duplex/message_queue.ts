import type { RpcMessage } from "../../protocol/rpc_messages.ts";

/** Messages that wait for one reader; further ones are dropped. */
const MAX_WAITING = 10_000;

/** Messages for one reader, who is not waited for. */
export class MessageQueue {
  readonly #messages: RpcMessage[] = [];
  #wake: (() => void) | undefined;
  #end: { readonly failure: unknown } | undefined;

  /** Adds a message; returns whether there was room. */
  push(message: RpcMessage): boolean {
    if (this.#messages.length >= MAX_WAITING) return false;
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
