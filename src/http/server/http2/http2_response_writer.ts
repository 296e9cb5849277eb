import { GatewayError } from "../../../base/errors.ts";
import { GrowingBuffer } from "../../../base/bytes.ts";
import type { Body } from "../../body.ts";
import type { HeaderList } from "../../header_list.ts";
import type { Http2Stream } from "../../http2/http2_stream.ts";
import type { StreamBody } from "../../http2/stream_body.ts";
import type { ResponseMessage } from "../../message.ts";
import type { Deadline } from "../../timer_wheel.ts";
import { hasNoBody, setFraming } from "../http1/response_head.ts";
import type { ServerContext } from "../server_options.ts";
import type { Http2Request } from "./http2_request.ts";
import type { TunnelLimits } from "../tunnel_limits.ts";
import { acceptWebSocket, relayTunnel } from "./http2_tunnel.ts";

const NEVER = Infinity;
const nothing = new Uint8Array();
/** As much as a connection of HTTP/1.1 gathers before it waits for its client. */
const GATHERED_BYTES = 20 * 1024;

/** Writes interim responses and the response to a stream. */
export class Http2ResponseWriter implements Deadline {
  /** Deadline for the client to make room for pending bytes. */
  dueAt = NEVER;
  /** Body bytes that the connection has accepted. */
  bytesSent = 0;
  readonly #stream: Http2Stream;
  readonly #context: ServerContext;
  readonly #onStalled: () => void;

  /** @param onStalled Called when the client makes no room before the deadline. */
  constructor(
    stream: Http2Stream,
    context: ServerContext,
    onStalled: () => void,
  ) {
    this.#stream = stream;
    this.#context = context;
    this.#onStalled = onStalled;
  }

  onDue(): void {
    this.#onStalled();
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
    await this.#writeBody(body, request?.acceptsTrailers === true);
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
        this.#stopWaiting();
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

  async #writeBody(body: Body, acceptsTrailers: boolean): Promise<void> {
    const { length } = body;
    let next = body.read();
    for (;;) {
      let chunk = next instanceof Promise ? await next : next;
      if (chunk === undefined) break;
      next = undefined;
      const { length: bytes } = chunk;
      if (bytes <= GATHERED_BYTES && !this.#stream.hasRoom(bytes)) {
        ({ chunk, next } = gather(chunk, body));
      }
      const sent = this.bytesSent + chunk.length;
      if (length !== undefined && sent > length) throw wrongLength(body, sent);
      const written = this.#stream.send(chunk, sent === length);
      if (written !== undefined) {
        this.#startWaiting();
        await written;
        this.#stopWaiting();
      }
      this.bytesSent = sent;
      next ??= body.read();
    }
    if (length === undefined) {
      await this.#endBody(acceptsTrailers ? body.trailers : undefined);
    } else if (this.bytesSent < length) throw wrongLength(body, this.bytesSent);
  }

  async #endBody(trailers: HeaderList | undefined): Promise<void> {
    if (trailers === undefined) return await this.#stream.send(nothing, true);
    this.#stream.sendFields((encoder) => encoder.fields(trailers), true);
  }

  #startWaiting(): void {
    const { wheel, limits } = this.#context;
    wheel.add(this);
    wheel.set(this, limits.writeTimeoutMs);
  }

  #stopWaiting(): void {
    this.dueAt = NEVER;
  }
}

/**
 * Copies a chunk, and what follows it at hand: a short body lets go of the connection that it comes from, while the client makes
 * no room.
 * @returns The result of the next read, too, unless nothing was read.
 */
function gather(
  first: Uint8Array,
  body: Body,
): { readonly chunk: Uint8Array; readonly next: ReturnType<Body["read"]> } {
  const gathered = new GrowingBuffer();
  gathered.append(first);
  while (gathered.length < GATHERED_BYTES) {
    const next = body.read();
    if (next === undefined || next instanceof Promise) {
      return { chunk: gathered.take(), next };
    }
    gathered.append(next);
  }
  return { chunk: gathered.take(), next: undefined };
}

function wrongLength(body: Body, sent: number): RangeError {
  return new RangeError(
    `Cannot finish the response: expected ${body.length} bytes, got ${sent}`,
  );
}
