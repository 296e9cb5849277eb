import type { Cancellation } from "../../../base/cancellation.ts";
import type { JsonRpcId } from "../../../base/errors.ts";
import {
  RPC,
  type RpcMessage,
  writeError,
  writeResult,
} from "../../protocol/rpc_messages.ts";
import { META, metaOf } from "../../protocol/revisions.ts";
import { isListChange } from "../server_connection.ts";
import type { RequestSender } from "../server_links.ts";
import { MessageQueue } from "./message_queue.ts";

/** Sends a message to the server. @throws {ServerFailure} */
export type SendMessage = (
  text: string,
  cancellation?: Cancellation,
) => Promise<void>;

type ServerRequest = Extract<RpcMessage, { kind: "request" }>;

/** A request that waits for its response. */
interface PendingRequest {
  /** The client that can be asked meanwhile; `undefined` for requests of the gateway, and for subscriptions. */
  readonly client: object | undefined;
  readonly queue: MessageQueue;
}

/** Notifications that concern all who listen, whatever is under way, unless they name a subscription. */
const common: ReadonlySet<string> = new Set([
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/elicitation/complete",
  "notifications/subscriptions/acknowledged",
]);

/**
 * Brings the messages of a server, which come over one connection in any order, to the requests that they belong to.
 *
 * Only responses and progress say which request that is. Others belong to the client whose requests are under way, if it is the only
 * one; what could be another client's is answered with an error, or dropped.
 */
export class MessageRouter {
  readonly #send: SendMessage;
  readonly #onListsChanged: () => void;
  readonly #pending = new Map<JsonRpcId, PendingRequest>();
  readonly #listeners = new Set<MessageQueue>();
  #end: { readonly failure: unknown } | undefined;

  /** @param onListsChanged Called when the server says so, also if nobody listens. */
  constructor(send: SendMessage, onListsChanged: () => void = () => {}) {
    this.#send = send;
    this.#onListsChanged = onListsChanged;
  }

  /** True after `end`. */
  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** Reason of the end of the connection; `undefined` before. */
  get failure(): unknown {
    return this.#end?.failure;
  }

  /** Sends a request; yields what belongs to it, the response last. */
  async *exchange(
    id: JsonRpcId,
    text: string,
    cancellation: Cancellation,
    sender?: RequestSender,
  ): AsyncGenerator<RpcMessage, void> {
    if (this.#end !== undefined) throw this.#end.failure;
    const queue = new MessageQueue();
    this.#pending.set(id, { client: sender?.client, queue });
    const unsubscribe = cancellation.onCancel((why) => queue.end(why));
    try {
      await this.#send(text, cancellation);
      for await (const message of queue) {
        yield message;
        const { kind } = message;
        if (kind === "result" || kind === "error") return;
      }
    } finally {
      unsubscribe();
      this.#pending.delete(id);
    }
  }

  /** Yields what belongs to no request, until the connection ends or nobody listens. */
  async *listen(cancellation: Cancellation): AsyncGenerator<RpcMessage, void> {
    if (this.#end !== undefined) return;
    const queue = new MessageQueue();
    this.#listeners.add(queue);
    const unsubscribe = cancellation.onCancel(() => queue.end());
    try {
      yield* queue;
    } finally {
      unsubscribe();
      this.#listeners.delete(queue);
    }
  }

  /** Takes a message of the server. */
  receive(message: RpcMessage): void {
    if (isListChange(message)) this.#onListsChanged();
    switch (message.kind) {
      case "result":
      case "error":
        if (message.id === undefined) return;
        this.#pending.get(message.id)?.queue.push(message);
        return;
      case "request":
        return this.#receiveRequest(message);
      case "notification":
        return this.#receiveNotification(message);
    }
  }

  /** Ends the connection: requests under way fail. */
  end(failure: unknown): void {
    if (this.#end !== undefined) return;
    this.#end = { failure };
    for (const { queue } of this.#pending.values()) queue.end(failure);
    for (const queue of this.#listeners) queue.end();
  }

  #receiveNotification(
    message: Extract<RpcMessage, { kind: "notification" }>,
  ): void {
    const { method, params } = message;
    const subscription = metaOf(params)[META.SUBSCRIPTION];
    if (method === "notifications/progress") {
      this.#pendingOf(params["progressToken"])?.push(message);
    } else if (subscription !== undefined) {
      this.#pendingOf(subscription)?.push(message);
    } else if (common.has(method) || this.#calls().length === 0) {
      for (const queue of this.#listeners) queue.push(message);
    } else {
      this.#onlySender()?.push(message);
    }
  }

  #pendingOf(id: unknown): MessageQueue | undefined {
    return typeof id === "number" || typeof id === "string"
      ? this.#pending.get(id)?.queue
      : undefined;
  }

  #receiveRequest(message: ServerRequest): void {
    const { id, method } = message;
    if (method === "ping") return this.#answer(writeResult(id, {}));
    const [only, ...others] = this.#listeners;
    const isIdle = this.#calls().length === 0;
    const listener = isIdle && others.length === 0 ? only : undefined;
    const isTaken = (this.#onlySender() ?? listener)?.push(message) ?? false;
    if (isTaken) return;
    const problem = isIdle
      ? "No client can be asked now"
      : "Several clients use the server now: the gateway cannot know which of them to ask";
    this.#answer(
      writeError(id, { code: RPC.INTERNAL_ERROR, message: problem }),
    );
  }

  /** Returns the latest request under way, if all are of one client. */
  #onlySender(): MessageQueue | undefined {
    const calls = this.#calls();
    const last = calls.at(-1);
    const isOnly = calls.every(({ client }) => client === last?.client);
    return isOnly ? last?.queue : undefined;
  }

  /** Returns the requests of clients. */
  #calls(): readonly PendingRequest[] {
    return [...this.#pending.values()]
      .filter(({ client }) => client !== undefined);
  }

  #answer(text: string): void {
    // A server that is gone needs no answer.
    this.#send(text).catch(() => {});
  }
}
