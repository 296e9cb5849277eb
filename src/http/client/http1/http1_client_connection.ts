import { recentTime } from "../../../base/clock.ts";
import type { Cancellation } from "../../../base/cancellation.ts";
import type { Body } from "../../body.ts";
import { InputBuffer } from "../../http1/input_buffer.ts";
import {
  isIdempotent,
  type ResponseMessage,
  type Tunnel,
} from "../../message.ts";
import { MessageWriter } from "../../http1/message_writer.ts";
import type { Transport } from "../../transport.ts";
import {
  type Connection,
  type ConnectionContext,
  MAX_IDLE_MS,
} from "../connection.ts";
import type { Deadline } from "../../timer_wheel.ts";
import {
  type ExchangeConnection,
  Http1ClientExchange,
} from "./http1_client_exchange.ts";
import { UnansweredError } from "../upstream_errors.ts";
import type { UpstreamRequest } from "../upstream.ts";

/** Age from which an idle connection is looked at before a request that must not be sent twice. */
const COLD_MS = 500;

/**
 * An HTTP/1.1 connection that serves one request at a time.
 *
 * A read is always pending, also between requests, where it becomes the read of the next response. It detects a connection that
 * the upstream has closed, or on which it sent unexpected data, before the connection is used.
 */
export class Http1ClientConnection
  implements Connection, ExchangeConnection, Deadline {
  readonly isShared = false;
  dueAt = Infinity;
  served = 0;
  readonly input: InputBuffer;
  readonly writer: MessageWriter;
  readonly context: ConnectionContext;
  readonly #transport: Transport;
  readonly #onIdleRead = () => this.#idleReadSettled();
  #idleRead: Promise<boolean> | undefined;
  #exchange: Http1ClientExchange | undefined;
  #reserved = false;
  /** Monotonic time of the end of the last exchange. */
  #idleSince: number;
  /** The upstream has ended the connection, or violated the protocol, between two requests. */
  #endedWhileIdle = false;
  #closed = false;

  constructor(transport: Transport, context: ConnectionContext) {
    this.#transport = transport;
    this.context = context;
    this.input = new InputBuffer(transport);
    this.writer = new MessageWriter(transport);
    context.wheel.add(this);
    this.#idleSince = recentTime(context.clock);
    this.#waitIdle(MAX_IDLE_MS);
  }

  get active(): number {
    return this.#reserved ? 1 : 0;
  }

  reserve(): boolean {
    this.#reserved = true;
    this.setDeadline(undefined);
    return false;
  }

  send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const isCold = this.served++ > 0 && !isIdempotent(request.method) &&
      recentTime(this.context.clock) - this.#idleSince > COLD_MS;
    return isCold
      ? this.#sendUnlessEnded(request, body, cancellation)
      : this.#exchangeMessages(request, body, cancellation);
  }

  /** Sees whether the upstream has ended the connection: a request that is sent then must not be sent again. */
  async #sendUnlessEnded(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (this.#endedWhileIdle) {
      this.close();
      const message = `"${this.context.endpoint}" closed an idle connection`;
      throw new UnansweredError(true, message);
    }
    return await this.#exchangeMessages(request, body, cancellation);
  }

  #exchangeMessages(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    this.#exchange = new Http1ClientExchange(this, request, body, cancellation);
    return this.#exchange.run();
  }

  fill(): Promise<boolean> {
    const read = this.#idleRead ?? this.input.fill();
    this.#idleRead = undefined;
    return read;
  }

  setDeadline(delayMs: number | undefined): void {
    if (!this.#closed) this.context.wheel.set(this, delayMs);
  }

  onDue(): void {
    if (this.#reserved) this.#exchange?.onDue();
    else this.close();
  }

  release(keepMs: number): void {
    if (this.#closed) return;
    this.#exchange = undefined;
    this.#reserved = false;
    this.#idleSince = recentTime(this.context.clock);
    this.#waitIdle(keepMs);
    this.context.onAvailable(this);
  }

  detach(): Tunnel {
    const early = this.input.take(this.input.available).slice();
    const transport = new TunnelTransport(this.#transport, () => this.close());
    return { transport, early };
  }

  retire(): void {
    if (!this.#reserved) this.close();
    else if (this.#idleRead !== undefined) this.#endedWhileIdle = true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.context.wheel.delete(this);
    this.#transport.close();
    this.#exchange?.connectionClosed();
    this.context.onClosed(this);
  }

  #waitIdle(keepMs: number): void {
    this.#idleRead = this.input.fill();
    this.#idleRead.then(this.#onIdleRead, this.#onIdleRead);
    this.setDeadline(keepMs);
  }

  #idleReadSettled(): void {
    if (!this.#reserved) this.close();
  }
}

/** A transport with a callback for `close`. */
class TunnelTransport implements Transport {
  readonly #transport: Transport;
  readonly #onClose: () => void;

  /** @param onClose Must also close `transport`. */
  constructor(transport: Transport, onClose: () => void) {
    this.#transport = transport;
    this.#onClose = onClose;
  }

  read(into: Uint8Array): Promise<number | null> {
    return this.#transport.read(into);
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#transport.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#transport.closeWrite();
  }

  close(): void {
    this.#onClose();
  }
}
