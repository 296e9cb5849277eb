import type { Cancellation } from "../../base/cancellation.ts";
import type { JsonRpcId } from "../../base/errors.ts";
import type { RpcMessage } from "../protocol/rpc_messages.ts";

/** Carries the messages of one session to a server of a revision with `initialize`, and back. */
export interface LegacyLink {
  /** Id of the session at the server; `undefined` if it has none. */
  readonly sessionId: string | undefined;
  /** Revision that the server has chosen; set once it is known. */
  revision: string | undefined;
  /** Sends a request; yields what belongs to it, the response last. */
  exchange(
    text: string,
    id: JsonRpcId,
    cancellation: Cancellation,
    owners?: readonly string[],
  ): AsyncGenerator<RpcMessage, void>;
  /** Sends a notification or a response. */
  post(text: string, cancellation: Cancellation): Promise<void>;
  /**
   * Yields what belongs to no request, until the server ends the stream; returns at once if there is none.
   * @param onOpen Called when nothing that the server sends from now on is missed.
   */
  listen(
    cancellation: Cancellation,
    onOpen: () => void,
  ): AsyncGenerator<RpcMessage, void>;
  /** Ends the session at the server. */
  end(cancellation: Cancellation): Promise<void>;
}
