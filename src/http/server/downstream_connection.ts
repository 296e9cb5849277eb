import type { GatewayError } from "../../base/errors.ts";
import type { FramedBody } from "../http1/framed_body.ts";
import { MessageWriter } from "../http1/message_writer.ts";
import type { Transport } from "../transport.ts";
import { ClientInput, type ReadAheadListener } from "./http1/client_input.ts";
import {
  GuardedTransport,
  type TransportGuard,
} from "./accept/guarded_transport.ts";
import type { Client, ServerContext } from "./server_options.ts";
import { prepareResponse } from "./http1/response_head.ts";

/** What a refused client was answered. */
export interface Rejection {
  readonly status: number;
  readonly bytesSent: number;
}

/** A client's connection: what the requests on it have in common. */
export class ClientLink {
  readonly client: Client;
  readonly context: ServerContext;
  readonly transport: GuardedTransport;
  readonly input: ClientInput;
  readonly writer: MessageWriter;
  /** Whether the response under way is to be the last. */
  retiring = false;
  /** Body bytes of the present response that went out so far. */
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
    this.transport = new GuardedTransport(transport, {
      wheel: context.wheel,
      writeTimeoutMs: () => context.limits.writeTimeoutMs,
      readExpired: () => listener.readExpired(),
      writeExpired: () => listener.writeExpired(),
    });
    this.input = new ClientInput(this.transport, listener);
    this.writer = new MessageWriter(this.transport);
  }

  readonly countBytes = (bytesSent: number): void => {
    this.bytesSent = bytesSent;
  };

  /** Cuts the connection. */
  close(): void {
    this.transport.close();
  }

  /** Refuses what the client sent; the connection is good for nothing else then. */
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
      // A client that is gone need not be told.
      return { status, bytesSent: 0 };
    }
  }

  /** Reads a body that nobody wants, up to a bound; resolves with whether its end was reached. */
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
      // Malformed or broken off: nobody asked for it, and the connection ends in any case.
    }
    return false;
  }

  /** Ends our side and waits until the client did the same, so that it can read all before the connection is gone. */
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
