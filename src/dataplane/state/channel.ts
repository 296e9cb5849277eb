import { describeError } from "../../base/errors.ts";
import { decodeMessage, decodeShared, type Message } from "./decode_message.ts";

/** The end of a connection between two threads. */
export interface MessageEnd {
  postMessage(message: Message): void;
  on(event: "message", listener: (data: unknown) => void): unknown;
}

/** Functions that another thread can call: their arguments and results survive `structuredClone`. */
export type Calls<C> = { [Name in keyof C]: (...args: never[]) => unknown };

/** Implementation of calls, which may be asynchronous. */
export type CallHandlers<C extends Calls<C>> = {
  readonly [Name in keyof C]: (
    ...args: Parameters<C[Name]>
  ) => ReturnType<C[Name]> | Promise<ReturnType<C[Name]>>;
};

/**
 * Calls between two threads: `Remote` are those that the other thread handles, `Local` those that this one does.
 */
export class Channel<Remote extends Calls<Remote>, Local extends Calls<Local>> {
  readonly #end: MessageEnd;
  #handlers: CallHandlers<Local> | undefined;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #closed: Error | undefined;

  constructor(end: MessageEnd) {
    this.#end = end;
  }

  /** Begins to receive messages, which wait until then. */
  serve(handlers: CallHandlers<Local>): void {
    this.#handlers = handlers;
    this.#end.on("message", (data) => void this.#receive(decodeMessage(data)));
  }

  /** Calls the other thread. @throws {Error} With the message of its error, or that of `close`. */
  async call<Name extends keyof Remote & string>(
    name: Name,
    ...args: Parameters<Remote[Name]>
  ): Promise<ReturnType<Remote[Name]>> {
    if (this.#closed !== undefined) throw this.#closed;
    const id = ++this.#lastId;
    const result = Promise.withResolvers<unknown>();
    this.#waiting.set(id, result);
    this.#end.postMessage({ type: "call", id, name, args });
    return decodeShared(await result.promise);
  }

  /** Calls the other thread without a result. */
  notify<Name extends keyof Remote & string>(
    name: Name,
    ...args: Parameters<Remote[Name]>
  ): void {
    if (this.#closed !== undefined) return;
    this.#end.postMessage({ type: "call", id: 0, name, args });
  }

  /** Fails all calls under way. */
  fail(reason: Error): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }

  /** Fails all calls under way and later ones, because the other thread has ended. */
  close(reason: Error): void {
    this.#closed = reason;
    this.fail(reason);
  }

  async #receive(message: Message): Promise<void> {
    const { id } = message;
    switch (message.type) {
      case "call":
        return await this.#handle(message);
      case "result":
        this.#waiting.get(id)?.resolve(message.value);
        break;
      case "error":
        this.#waiting.get(id)?.reject(new Error(message.message));
        break;
    }
    this.#waiting.delete(id);
  }

  async #handle(
    { id, name, args }: Message & { readonly type: "call" },
  ): Promise<void> {
    try {
      const value: unknown = await this.#handlerOf(name)(...args);
      if (id !== 0) this.#end.postMessage({ type: "result", id, value });
    } catch (error) {
      // A call without a result handles its own errors: this one is a bug, and must be seen.
      if (id === 0) throw error;
      const message = describeError(error);
      this.#end.postMessage({ type: "error", id, message });
    }
  }

  #handlerOf(name: string): (...args: readonly unknown[]) => unknown {
    const handlers = this.#handlers ?? {};
    const handler: unknown = Reflect.get(handlers, name);
    if (typeof handler !== "function") {
      throw new TypeError(`Cannot call "${name}": it does not exist`);
    }
    return (...args) => handler.apply(handlers, args);
  }
}
