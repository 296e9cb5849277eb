import { GatewayError } from "../../../base/errors.ts";
import { GrowingBuffer } from "../../../base/bytes.ts";
import type { Body } from "../../body.ts";
import type { HeldBytes } from "../../body_memory.ts";
import type { HeaderList } from "../../header_list.ts";
import type { Http2Stream } from "../../http2/http2_stream.ts";
import type { StreamBody } from "../../http2/stream_body.ts";
import type { ResponseMessage } from "../../message.ts";
import type { Deadline } from "../../timer_wheel.ts";
import { hasNoBody, setFraming } from "../http1/response_head.ts";
import {
  responsePace,
  type ServerContext,
} from "../contract/server_options.ts";
import type { TransferPace } from "../contract/transfer_pace.ts";
import type { Http2Request } from "./http2_request.ts";
import type { TunnelLimits } from "../contract/tunnel_limits.ts";
import { acceptWebSocket, relayTunnel } from "./http2_tunnel.ts";

const NEVER = Infinity;
const nothing = new Uint8Array();
/** As much as a connection of HTTP/1.1 gathers before it waits for its client. */
const GATHERED_BYTES = 20 * 1024;
/** A buffer that grows to so many bytes may have twice the room. */
const MAX_HELD = 2 * GATHERED_BYTES;

/** Writes interim responses and the response to a stream. */
export class Http2ResponseWriter implements Deadline {
  /** Deadline for the client to make room for pending bytes. */
  dueAt = NEVER;
  /** Body bytes that the connection has accepted. */
  bytesSent = 0;
  readonly #stream: Http2Stream;
  readonly #context: ServerContext;
  readonly #onStalled: (problem: string) => void;
  /** Set by the first wait. */
  #pace: TransferPace | undefined;

  /** @param onStalled Called with the problem when the client makes no room in time. */
  constructor(
    stream: Http2Stream,
    context: ServerContext,
    onStalled: (problem: string) => void,
  ) {
    this.#stream = stream;
    this.#context = context;
    this.#onStalled = onStalled;
  }

  onDue(): void {
    this.#onStalled(this.#pace?.problem ?? "no data in time");
  }

  writeInterim(status: string, headers?: HeaderList): void {
    this.#stream.sendFields((encoder) => {
      encoder.pseudo(":status", status);
      if (headers !== undefined) encoder.fields(headers);
    }, false);
  }

  /**
   * Writes the response, and corrects the fields about the length of its body.
   * @param request The request; `undefined` if it could not be read.
   * @throws The error of the body, or of the stream when it is cut.
   */
  async write(
    response: ResponseMessage,
    request: Http2Request | undefined,
  ): Promise<void> {
    const { body } = response;
    const method = request?.sentMethod;
    setFraming(response, method);
    if (body === undefined || hasNoBody(response, method)) {
      this.#writeHead(response, true);
      body?.cancel("there is no body in this response");
      return;
    }
    this.#writeHead(response, body.length === 0);
    await this.#writeBody(body, request);
  }

  /**
   * Responds to an extended CONNECT, and relays bytes between client and upstream until both have ended.
   * @throws {GatewayError} If the response of the upstream is unusable. The error of a side that breaks off.
   */
  async relay(
    response: ResponseMessage,
    request: Http2Request | undefined,
    body: StreamBody | undefined,
    limits: TunnelLimits,
  ): Promise<void> {
    const { tunnel } = response;
    if (tunnel === undefined || body === undefined || !request?.upgrade) {
      throw new GatewayError(
        "internal",
        "gateway",
        "Cannot switch protocols: nothing to switch to",
      );
    }
    acceptWebSocket(response, request.headers.get("sec-websocket-key"));
    this.#writeHead(response, false);
    await relayTunnel(this.#stream, body, tunnel, {
      waitingForClient: () => this.#startWaiting(),
      sent: (count) => {
        this.#stopWaiting(count);
        this.bytesSent += count;
        limits.moved();
      },
      received: () => limits.moved(),
      halfOpened: () => limits.halfOpened(),
    });
  }

  #writeHead({ status, headers }: ResponseMessage, endStream: boolean): void {
    this.#stream.sendFields((encoder) => {
      encoder.pseudo(":status", String(status));
      encoder.fields(headers);
      if (!headers.has("date")) {
        encoder.field("date", this.#context.date());
      }
    }, endStream);
  }

  async #writeBody(
    body: Body,
    request: Http2Request | undefined,
  ): Promise<void> {
    const { length } = body;
    const held = request?.held;
    let next = body.read();
    for (;;) {
      let chunk = next instanceof Promise ? await next : next;
      if (chunk === undefined) break;
      next = undefined;
      const { length: bytes } = chunk;
      const gathers = bytes <= GATHERED_BYTES &&
        !this.#stream.hasRoom(bytes) && held?.hasRoom(MAX_HELD) === true;
      if (gathers) ({ chunk, next } = gather(chunk, body, held));
      const sent = this.bytesSent + chunk.length;
      if (length !== undefined && sent > length) throw wrongLength(body, sent);
      const written = this.#stream.send(chunk, sent === length);
      if (written !== undefined) {
        this.#startWaiting();
        await written;
        this.#stopWaiting(chunk.length);
      }
      if (gathers) held.release(chunk.buffer.byteLength);
      this.bytesSent = sent;
      next ??= body.read();
    }
    if (length === undefined) {
      const sends = request?.acceptsTrailers === true;
      await this.#endBody(sends ? body.trailers : undefined);
    } else if (this.bytesSent < length) throw wrongLength(body, this.bytesSent);
  }

  async #endBody(trailers: HeaderList | undefined): Promise<void> {
    if (trailers === undefined) return await this.#stream.send(nothing, true);
    this.#stream.sendFields((encoder) => encoder.fields(trailers), true);
  }

  #startWaiting(): void {
    const { wheel } = this.#context;
    wheel.add(this);
    this.#pace ??= responsePace(this.#context);
    wheel.setAt(this, this.#pace.wait());
  }

  #stopWaiting(count: number): void {
    this.dueAt = NEVER;
    this.#pace?.moved(count);
  }
}

/**
 * Copies a chunk, and what follows it at hand, into memory of `held`: a short body lets go of the connection that it comes from,
 * while the client makes no room.
 * @returns The result of the next read, too, unless nothing was read.
 */
function gather(
  first: Uint8Array,
  body: Body,
  held: HeldBytes,
): { readonly chunk: Uint8Array; readonly next: ReturnType<Body["read"]> } {
  held.take(MAX_HELD);
  const gathered = new GrowingBuffer();
  gathered.append(first);
  let next = body.read();
  while (next !== undefined && !(next instanceof Promise)) {
    if (gathered.length + next.length > GATHERED_BYTES) break;
    gathered.append(next);
    next = body.read();
  }
  const chunk = gathered.take();
  held.release(MAX_HELD - chunk.buffer.byteLength);
  return { chunk, next };
}

function wrongLength(body: Body, sent: number): RangeError {
  return new RangeError(
    `Cannot finish the response: expected ${body.length} bytes, got ${sent}`,
  );
}
