import type { JsonRpcId } from "../../../base/errors.ts";
import {
  RPC,
  RpcFailure,
  type RpcMessage,
  writeError,
  writeResult,
} from "../../protocol/rpc_messages.ts";
import type { RequestSide } from "../server_connection.ts";

/** Requests of the server that are answered at a time during one of the gateway; a flood of them must not fill the memory. */
const MAX_ANSWERING = 64;

type Question = Extract<RpcMessage, { kind: "request" }>;

/** Requests that a server sends on one stream, such as questions to the user. */
export class ServerQuestions {
  readonly #ask: RequestSide["ask"];
  readonly #post: (text: string) => Promise<void>;
  readonly #answering = new Set<JsonRpcId>();

  /** @param post Sends an answer to the server. */
  constructor(
    ask: RequestSide["ask"],
    post: (text: string) => Promise<void>,
  ) {
    this.#ask = ask;
    this.#post = post;
  }

  /** Answers a request, unless the server sends too many; never rejects, for nobody waits. */
  async answer(question: Question): Promise<void> {
    const { id } = question;
    if (this.#answering.has(id) || this.#answering.size >= MAX_ANSWERING) {
      return;
    }
    this.#answering.add(id);
    try {
      await this.#post(await this.#answerTo(question));
    } finally {
      this.#answering.delete(id);
    }
  }

  async #answerTo(
    { id, method, params }: Question,
  ): Promise<string> {
    try {
      if (method === "ping") {
        return writeResult(id, {});
      }
      const { _meta: _, ...own } = params;
      const isEmpty = Object.keys(own).length === 0;
      const results = await this.#ask({
        request: { method, ...(!isEmpty && { params: own }) },
      });
      return writeResult(id, results["request"] ?? {});
    } catch (error) {
      return writeError(
        id,
        error instanceof RpcFailure
          ? error
          : { code: RPC.INTERNAL_ERROR, message: "The client cannot be asked" },
      );
    }
  }
}
