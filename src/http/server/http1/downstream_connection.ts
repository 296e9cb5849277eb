import type { GatewayError } from "../../../base/errors.ts";
import type { FramedBody } from "../../http1/framed_body.ts";
import { MessageWriter } from "../../http1/message_writer.ts";
import type { Transport } from "../../transport.ts";
import { ClientInput, type ReadAheadListener } from "./client_input.ts";
import {
  GuardedTransport,
  type TransportGuard,
} from "../accept/guarded_transport.ts";
import {
  type Client,
  responsePace,
  type ServerContext,
} from "../contract/server_options.ts";
import type { TransferPace } from "../contract/transfer_pace.ts";
import { prepareResponse } from "./response_head.ts";

/** The response to a rejected request. */
export interface Rejection {
  readonly status: number;
  readonly bytesSent: number;
}

/** A client's connection: the parts that its requests share. */
export class DownstreamConnection {
  readonly client: Client;
  readonly context: ServerContext;
  readonly transport: GuardedTransport;
  readonly input: ClientInput;
  readonly writer: MessageWriter;
  /** Pace at which the client must read. */
  readonly pace: TransferPace;
  /** The current response is the last one. */
  retiring = false;
  /** Body bytes of the current response sent so far. */
  bytesSent = 0;

  constructor(
    transport: Transport,
    client: Client,
    context: ServerContext,
    listener:
      & ReadAheadListener
      & Pick<TransportGuard, "readExpired" | "writeExpired">,
  ) {
    this.client = client;
    this.context = context;
    this.pace = responsePace(context);
    this.transport = new GuardedTransport(transport, {
      wheel: context.wheel,
      pace: this.pace,
      readExpired: () => listener.readExpired(),
      writeExpired: () => listener.writeExpired(),
    });
    this.input = new ClientInput(this.transport, listener);
    this.writer = new MessageWriter(this.transport);
  }

  readonly countBytes = (bytesSent: number): void => {
    this.bytesSent = bytesSent;
  };

  /** Closes the connection. */
  close(): void {
    this.transport.close();
    this.input.buffer.release();
  }

  /** Responds to an invalid request; the connection cannot be used afterwards. */
  async reject(error: GatewayError): Promise<Rejection> {
    const response = this.context.reject(error);
    const { head, body, framing } = prepareResponse(response, {
      request: undefined,
      persists: false,
      date: this.context.date(),
    });
    const { status } = response;
    try {
      const bytesSent = await this.writer.writeMessage(head, body, framing);
      return { status, bytesSent };
    } catch {
      // The client has disconnected.
      return { status, bytesSent: 0 };
    }
  }

  /** Discards an unread body up to a limit; resolves with whether its end was reached. */
  async skip(body: FramedBody): Promise<boolean> {
    const { transport, context: { limits, wheel } } = this;
    const deadline = wheel.after(limits.lingerTimeoutMs);
    let budget = limits.maxDrainBytes;
    try {
      while (budget > 0) {
        const reading = body.read();
        transport.limitRead(deadline);
        const chunk = await reading;
        if (chunk === undefined) return true;
        budget -= chunk.length;
      }
    } catch {
      // Malformed or truncated: irrelevant for a discarded body; the connection is closed.
    }
    return false;
  }

  /** Closes the sending side and waits for the client to close its own, so that it can read the whole response. */
  async linger(): Promise<void> {
    const { transport, input, context } = this;
    if (transport.closed || !input.open) return;
    await transport.closeWrite();
    const deadline = context.wheel.after(context.limits.lingerTimeoutMs);
    let budget = context.limits.maxDrainBytes;
    while (budget > 0) {
      const reading = transport.pendingRead ??
        transport.read(input.buffer.bytes);
      transport.limitRead(deadline);
      const count = await reading;
      if (count === null) return;
      budget -= count;
    }
  }
}
