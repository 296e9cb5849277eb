import type { Cancellation } from "../../base/cancellation.ts";
import type { JsonRpcId } from "../../base/errors.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { JsonObject } from "../../base/json.ts";
import type { RpcMessage } from "../protocol/rpc_messages.ts";

/** The client that sends a request; none for requests of the gateway's own. */
export interface RequestSender {
  /** Names of the client for shares of the server's connections; see `RequestMessage`. */
  readonly owners: readonly string[];
  /** The same object for all requests of one client, and for no other's. */
  readonly client: object;
}

/** Sends a call that is written already; resolves with the head of the response, from which `exchange` goes on. */
export type SendCall = (
  content: Uint8Array,
  owners: RequestSender["owners"],
  cancellation: Cancellation,
) => Promise<ResponseMessage>;

/** A request of the era without sessions, with its whole `_meta`. */
export interface ModernRequest {
  readonly id: number;
  readonly method: string;
  readonly params: JsonObject;
}

/** Carries requests to a server of the era without sessions, and what belongs to them back. */
export interface ModernLink {
  /**
   * Sends a request; yields what belongs to it, the response last.
   * @param begun Of a request that `callOf` has sent.
   */
  exchange(
    request: ModernRequest,
    cancellation: Cancellation,
    sender?: RequestSender,
    begun?: Promise<ResponseMessage>,
  ): AsyncGenerator<RpcMessage, void>;
  /** Prepares calls of a tool. Absent where all messages share a stream. */
  callOf?(tool: string): SendCall;
}

/** Carries the messages of one session to a server of a revision with `initialize`, and back. */
export interface LegacyLink {
  /** Id of the session at the server; `undefined` if it has none. */
  readonly sessionId: string | undefined;
  /** True if the server remembers what the client did. */
  readonly isStateful: boolean;
  /** Revision that the server has chosen; set once it is known. */
  revision: string | undefined;
  /** As in `ModernLink`. */
  exchange(
    text: string,
    id: JsonRpcId,
    cancellation: Cancellation,
    sender?: RequestSender,
    begun?: Promise<ResponseMessage>,
  ): AsyncGenerator<RpcMessage, void>;
  /** As in `ModernLink`, for the calls of now. */
  callOf?(tool: string): SendCall;
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
