import type { Socket } from "node:net";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { Cancellation } from "../../../base/cancellation.ts";
import { GatewayError } from "../../../base/errors.ts";
import { nodeHttp2 } from "../../../base/node_http2.ts";
import type { Body } from "../../body.ts";
import { destroyLater } from "../../http2/http2_session.ts";
import type { ResponseMessage } from "../../message.ts";
import {
  type Connection,
  type ConnectionContext,
  MAX_HEAD_BYTES,
  MAX_HEAD_FIELDS,
  MAX_IDLE_MS,
} from "../connection.ts";
import type { Deadline } from "../../timer_wheel.ts";
import {
  Http2Exchange,
  type StreamConnection,
} from "./http2_client_exchange.ts";
import { UnansweredError } from "../upstream_errors.ts";
import type { UpstreamRequest } from "../upstream.ts";

/** When the upstream sets no limit. */
const DEFAULT_MAX_STREAMS = 100;
/** Bytes of one body on their way to us: enough for a fast network, and the most that a slow client makes us hold. */
const WINDOW_BYTES = 256 * 1024;

/**
 * Makes `socket`, which is connected, an HTTP/2 connection.
 * @throws When the upstream does not speak HTTP/2, or `signal` says to give up.
 */
export async function connectHttp2(
  socket: Socket,
  context: ConnectionContext,
  signal: AbortSignal,
): Promise<Connection> {
  const session = nodeHttp2().connect("http://upstream", {
    createConnection: () => socket,
    maxHeaderListPairs: MAX_HEAD_FIELDS,
    settings: {
      enablePush: false,
      initialWindowSize: WINDOW_BYTES,
      maxHeaderListSize: MAX_HEAD_BYTES,
    },
  });
  destroyLater(session);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = () => session.destroy();
  signal.addEventListener("abort", onAbort);
  session.once("remoteSettings", () => resolve());
  session.once("close", () => reject(new Error("The connection was closed")));
  // Stays: what ends a session ends its streams, and those are listened to.
  session.on("error", (error) => reject(notHttp2(context, error)));
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  return new Http2Connection(session, context);
}

/** An HTTP/2 connection that serves as many requests at a time as the upstream allows. */
export class Http2Connection implements Connection, StreamConnection, Deadline {
  readonly isShared = true;
  active = 0;
  served = 0;
  dueAt = Infinity;
  readonly context: ConnectionContext;
  readonly #session: ClientHttp2Session;
  #lastStreamId = Infinity;
  #draining = false;
  #closed = false;

  /** @param session Its settings have arrived. */
  constructor(session: ClientHttp2Session, context: ConnectionContext) {
    this.#session = session;
    this.context = context;
    context.wheel.add(this);
    context.wheel.set(this, MAX_IDLE_MS);
    session.on("stream", dismissStream);
    session.on("goaway", (_code, lastStreamId) => {
      this.#lastStreamId = lastStreamId;
      this.retire();
    });
    session.on("close", () => this.close());
  }

  reserve(): boolean {
    this.active++;
    this.context.wheel.set(this, undefined);
    return this.#hasRoom;
  }

  async send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    this.served++;
    const exchange = this.#open(request, body);
    return await exchange.run(cancellation);
  }

  ignores(streamId: number | undefined): boolean {
    return streamId === undefined || streamId > this.#lastStreamId;
  }

  release(): void {
    const wasFull = !this.#hasRoom;
    this.active--;
    if (this.#closed) return;
    if (this.active === 0) {
      if (this.#draining) this.close();
      else this.context.wheel.set(this, MAX_IDLE_MS);
    }
    if (wasFull && !this.#draining) this.context.onAvailable(this);
  }

  retire(): void {
    this.#draining = true;
    this.context.onDraining(this);
    if (this.active === 0) this.close();
  }

  onDue(): void {
    if (this.active === 0) this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.context.wheel.delete(this);
    this.#session.destroy();
    this.context.onClosed(this);
  }

  #open(request: UpstreamRequest, body: Body | undefined): Http2Exchange {
    try {
      if (request.upgrade !== undefined) {
        throw new TypeError("Cannot upgrade an HTTP/2 connection");
      }
      return new Http2Exchange(this, this.#session, request, body);
    } catch (cause) {
      this.release();
      const { endpoint } = this.context;
      if (this.#session.closed || this.#session.destroyed) {
        this.retire();
        throw new UnansweredError(
          true,
          `Lost the connection to "${endpoint}"`,
          { cause },
        );
      }
      throw new GatewayError(
        "bad_request",
        "downstream",
        `Cannot send the request to "${endpoint}" in HTTP/2`,
        { cause },
      );
    }
  }

  get #hasRoom(): boolean {
    const { maxConcurrentStreams } = this.#session.remoteSettings;
    return this.active < (maxConcurrentStreams ?? DEFAULT_MAX_STREAMS);
  }
}

/**
 * Drops a stream that the upstream opened.
 *
 * Push is disabled, but Deno takes the response to a request that was just cancelled for one; unheard, its error would end
 * the process.
 */
function dismissStream(stream: ClientHttp2Stream): void {
  stream.on("error", () => {});
  stream.destroy();
}

function notHttp2(context: ConnectionContext, cause: unknown): GatewayError {
  return new GatewayError(
    "upstream_protocol_error",
    "upstream",
    `Cannot speak HTTP/2 with "${context.endpoint}"`,
    { cause },
  );
}
