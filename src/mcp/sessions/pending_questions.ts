import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  RPC,
  RpcFailure,
  type RpcMessage,
  writeRequest,
} from "../protocol/rpc_messages.ts";
import type { InputRequests } from "../servers/server_connection.ts";
import { neededCapability } from "../clients/client.ts";

/** People take minutes to answer. */
const ANSWER_LIMIT_MS = 600_000;
const MAX_QUESTIONS = 64;

interface Question {
  resolve(result: JsonObject): void;
  reject(failure: RpcFailure): void;
}

/** Requests of servers that a client of a session has to answer; each gets an id of the gateway's own. */
export class PendingQuestions {
  readonly #clock: Clock;
  readonly #capabilities: JsonObject;
  readonly #pending = new Map<string, Question>();
  #asked = 0;

  constructor(clock: Clock, capabilities: JsonObject) {
    this.#clock = clock;
    this.#capabilities = capabilities;
  }

  /**
   * Sends requests to the client, and returns its results by key.
   * @throws {RpcFailure} When the client lacks the capability, answers with an error, or does not answer.
   */
  async ask(
    requests: InputRequests,
    send: (text: string) => void,
  ): Promise<Readonly<Record<string, JsonObject>>> {
    const results = Object.entries(requests).map(
      async ([key, { method, params = {} }]) =>
        [key, await this.#askOne(method, params, send)] as const,
    );
    return Object.fromEntries(await Promise.all(results));
  }

  /** Takes the client's answer; returns whether it belongs to a question. */
  answer(message: RpcMessage): boolean {
    if (message.kind !== "result" && message.kind !== "error") return false;
    const question = this.#pending.get(String(message.id));
    if (question === undefined) return false;
    if (message.kind === "result") question.resolve(message.result);
    else question.reject(RpcFailure.of(message.error));
    return true;
  }

  /** Ends all questions: the client is gone. */
  close(): void {
    for (const { reject } of this.#pending.values()) reject(gone());
  }

  async #askOne(
    method: string,
    params: JsonObject,
    send: (text: string) => void,
  ): Promise<JsonObject> {
    const needed = neededCapability(method);
    if (needed === undefined || this.#capabilities[needed] === undefined) {
      throw new RpcFailure(
        RPC.METHOD_NOT_FOUND,
        `The client does not support ${method}`,
      );
    }
    if (this.#pending.size >= MAX_QUESTIONS) {
      throw new RpcFailure(RPC.INTERNAL_ERROR, "The client is asked too much");
    }
    const id = `gateway-${++this.#asked}`;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#pending.set(id, { resolve, reject });
    const stop = this.#clock.setTimer(() => reject(gone()), ANSWER_LIMIT_MS);
    try {
      // 2025-11-25 has an id for pages that the user is sent to.
      const isPage = params["mode"] === "url";
      const own = isPage ? { elicitationId: id, ...params } : params;
      send(writeRequest(id, method, own));
      return await promise;
    } finally {
      stop();
      this.#pending.delete(id);
    }
  }
}

function gone(): RpcFailure {
  return new RpcFailure(RPC.INTERNAL_ERROR, "The client did not answer");
}
