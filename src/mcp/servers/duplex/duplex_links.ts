import { Cancellation } from "../../../base/cancellation.ts";
import type { JsonRpcId } from "../../../base/errors.ts";
import {
  type RpcMessage,
  writeNotification,
  writeRequest,
} from "../../protocol/rpc_messages.ts";
import type {
  LegacyLink,
  ModernLink,
  ModernRequest,
  RequestSender,
} from "../server_links.ts";
import type { MessageRouter, SendMessage } from "./message_router.ts";

/** A connection over which messages go both ways. */
export interface DuplexConnection {
  readonly router: MessageRouter;
  readonly send: SendMessage;
}

/** The session that a process has from its start to its end. */
export class DuplexLegacyLink implements LegacyLink {
  readonly sessionId = undefined;
  readonly isStateful = true;
  revision: string | undefined;
  readonly #connection: DuplexConnection;

  constructor(connection: DuplexConnection) {
    this.#connection = connection;
  }

  exchange(
    text: string,
    id: JsonRpcId,
    cancellation: Cancellation,
    sender?: RequestSender,
  ): AsyncGenerator<RpcMessage, void> {
    return this.#connection.router.exchange(id, text, cancellation, sender);
  }

  post(text: string, cancellation: Cancellation): Promise<void> {
    return this.#connection.send(text, cancellation);
  }

  listen(
    cancellation: Cancellation,
    onOpen: () => void,
  ): AsyncGenerator<RpcMessage, void> {
    onOpen();
    return this.#connection.router.listen(cancellation);
  }

  end(): Promise<void> {
    // Others may use the connection; who has opened it closes it.
    return Promise.resolve();
  }
}

/** Requests of the era without sessions over one connection (MCP 2026-07-28, "stdio"). */
export class DuplexModernLink implements ModernLink {
  readonly #connection: DuplexConnection;

  constructor(connection: DuplexConnection) {
    this.#connection = connection;
  }

  async *exchange(
    { id, method, params }: ModernRequest,
    cancellation: Cancellation,
    sender?: RequestSender,
  ): AsyncGenerator<RpcMessage, void> {
    const { router, send } = this.#connection;
    const text = writeRequest(id, method, params);
    let isOver = false;
    try {
      const messages = router.exchange(id, text, cancellation, sender);
      for await (const message of messages) {
        isOver = message.kind === "result" || message.kind === "error";
        yield message;
      }
    } finally {
      if (!isOver && !router.isOver) {
        const reason = { requestId: id };
        const cancelled = writeNotification("notifications/cancelled", reason);
        // A server that is gone has nothing to cancel.
        send(cancelled, new Cancellation()).catch(() => {});
      }
    }
  }
}
