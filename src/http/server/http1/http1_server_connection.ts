import { GatewayError } from "../../../base/errors.ts";
import { parseRequestHead, type RequestHead } from "../../http1/head_parser.ts";
import { HttpSyntaxError } from "../../http1/http_syntax_error.ts";
import type { RequestMessage } from "../../message.ts";
import type { Peer, Transport } from "../../transport.ts";
import type { ReadAheadListener } from "./client_input.ts";
import { DownstreamConnection } from "./downstream_connection.ts";
import type { Client, ServerContext } from "../contract/server_options.ts";
import {
  locateHead,
  skipEmptyLine,
  startsWithPreface,
} from "./head_locator.ts";
import { Http1ServerExchange } from "./http1_server_exchange.ts";
import type { RejectedRequest } from "../contract/observer.ts";
import type { OpenConnection } from "../contract/open_connection.ts";
import { toRequestError } from "../contract/request_error.ts";

/** Grace period for a request that the client sent before it noticed that the connection is being closed. */
const IN_FLIGHT_MS = 100;
/** Age before which the first request of a new connection is probably on its way. */
const FIRST_REQUEST_MS = 1000;

/**
 * Serves a client's HTTP/1.x connection: one request after another.
 *
 * A simple exchange takes one read and one write.
 */
export class Http1ServerConnection
  implements OpenConnection, ReadAheadListener {
  readonly protocol = "http/1.1";
  readonly openedAt: number;
  readonly #downstream: DownstreamConnection;
  readonly #context: ServerContext;
  /** The request and response in progress. */
  #exchange: Http1ServerExchange | undefined;
  /** A parsed head whose exchange has not begun. */
  #head: RequestHead | undefined;
  #served = 0;
  #speaksHttp2 = false;
  /** No further requests are accepted. */
  #leaving = false;
  #endReason: string | undefined;
  #stopWaiting: (() => void) | undefined;

  constructor(transport: Transport, client: Client, context: ServerContext) {
    this.#context = context;
    this.openedAt = context.clock.monotonic();
    this.#downstream = new DownstreamConnection(
      transport,
      client,
      context,
      this,
    );
  }

  get endReason(): string {
    return this.#endReason ?? "client closed";
  }

  get peer(): Peer {
    return this.#downstream.client.peer;
  }

  get activeRequests(): number {
    return this.#exchange === undefined ? 0 : 1;
  }

  get requests(): readonly RequestMessage[] {
    return this.#exchange === undefined ? [] : [this.#exchange.request];
  }

  /**
   * Serves until the connection is closed. Never throws.
   *
   * If the client starts with HTTP/2, resolves with the bytes received so far and leaves the connection open.
   */
  async run(): Promise<Uint8Array | undefined> {
    const { transport } = this.#downstream;
    transport.watch();
    try {
      await this.#serveAll();
      if (this.#speaksHttp2) return this.#takeInput();
      await this.#linger();
    } catch (error) {
      await this.#handleError(error);
    } finally {
      transport.unwatch();
      this.#stopWaiting?.();
      if (!this.#speaksHttp2) this.#downstream.close();
    }
  }

  /** Makes the current request the last, or the next one. */
  announceEnd(): void {
    this.#downstream.retiring = true;
  }

  /** Makes the current request the last, including one in flight; closes an idle connection. */
  retire(): void {
    this.announceEnd();
    // A connection from the queue of a port that closes is retired when it opens and again with the others.
    this.#stopWaiting?.();
    if (!this.#isIdle || this.#downstream.transport.closed) return;
    const { clock } = this.#context;
    const firstRequestMs = this.#served > 0
      ? 0
      : this.openedAt + FIRST_REQUEST_MS - clock.monotonic();
    this.#stopWaiting = clock.setTimer(() => {
      if (this.#isIdle) this.#end("draining");
    }, Math.max(IN_FLIGHT_MS, firstRequestMs));
  }

  get #isIdle(): boolean {
    return this.#exchange === undefined && !this.#leaving &&
      this.#downstream.input.buffer.available === 0;
  }

  /** Closes the connection; the current request fails with `reason`. */
  close(reason?: GatewayError): void {
    if (reason !== undefined) this.#exchange?.cut(reason);
    this.#end("cut");
  }

  clientEnded(): void {
    this.#exchange?.clientEnded();
  }

  clientLost(error: unknown): void {
    this.#exchange?.clientLost(error);
  }

  writeExpired(): void {
    if (this.#exchange === undefined) this.#end("write timeout");
    else this.#exchange.writeExpired();
  }

  readExpired(): void {
    if (this.#exchange === undefined) this.#headExpired();
    else this.#exchange.readExpired();
  }

  async #serveAll(): Promise<void> {
    for (;;) {
      const head = await this.#readHead();
      if (head === undefined) return;
      this.#head = head;
      this.#exchange = new Http1ServerExchange(head, this.#downstream);
      this.#head = undefined;
      const persists = await this.#exchange.run();
      this.#downstream.input.stopReadingAhead();
      this.#exchange = undefined;
      this.#served++;
      if (!persists) return this.#keepLastReason();
    }
  }

  #keepLastReason(): void {
    const { transport, retiring } = this.#downstream;
    if (transport.closed) this.#endReason ??= "request cut";
    else this.#endReason ??= retiring ? "draining" : "last request";
  }

  /** Reads the next head; `undefined` when the connection ends. */
  async #readHead(): Promise<RequestHead | undefined> {
    const { limits, wheel } = this.#context;
    const { input, transport } = this.#downstream;
    const { buffer } = input;
    let searched = 0;
    let deadline = this.#served > 0
      ? undefined
      : wheel.after(limits.requestHeadersTimeoutMs);
    for (;;) {
      if (searched < 2) skipEmptyLine(buffer);
      const headEnd = locateHead(buffer, searched, limits.maxHeaderBytes);
      if (headEnd >= 0) return this.#parseHead(headEnd);
      searched = buffer.available;
      if (searched > 0) {
        deadline ??= wheel.after(limits.requestHeadersTimeoutMs);
      }
      transport.limitRead(deadline ?? wheel.after(limits.keepAliveTimeoutMs));
      if (!await input.fill() || this.#leaving) return undefined;
    }
  }

  #parseHead(headEnd: number): RequestHead | undefined {
    const { client, input: { buffer } } = this.#downstream;
    const mayBeHttp2 = this.#served === 0 && client.scheme === "http";
    if (mayBeHttp2 && startsWithPreface(buffer)) {
      this.#speaksHttp2 = true;
      return undefined;
    }
    const head = parseRequestHead(buffer.bytes, buffer.start, headEnd);
    buffer.start = headEnd;
    const { maxHeaderCount } = this.#context.limits;
    if (head.headers.size <= maxHeaderCount) return head;
    throw new HttpSyntaxError(
      "too_large",
      `Cannot accept the request: it has more than ${maxHeaderCount} headers`,
    );
  }

  #takeInput(): Uint8Array {
    const { buffer } = this.#downstream.input;
    return buffer.take(buffer.available);
  }

  #headExpired(): void {
    if (this.#leaving || this.#downstream.input.buffer.available === 0) {
      return this.#end("idle timeout");
    }
    this.#leaving = true;
    const error = new GatewayError(
      "request_timeout",
      "downstream",
      "Cannot read the request: its head did not arrive in time",
    );
    void this.#reject(error).then(() => this.#downstream.close());
  }

  #end(reason: string): void {
    this.#endReason ??= reason;
    this.#downstream.close();
  }

  /** Responds to an invalid request; other errors mean that the client has disconnected. */
  async #handleError(error: unknown): Promise<void> {
    const isRejection = error instanceof HttpSyntaxError ||
      error instanceof GatewayError;
    if (!isRejection) {
      this.#endReason ??= "connection lost";
      return;
    }
    await this.#reject(toRequestError(error));
    await this.#linger();
  }

  async #reject(error: GatewayError): Promise<void> {
    this.#endReason ??= error.code;
    const rejection = await this.#downstream.reject(error);
    const source = this.#downstream.client.peer;
    const request = describeHead(this.#head);
    this.#context.observer.requestRejected({
      error,
      source,
      ...request,
      ...rejection,
    });
  }

  async #linger(): Promise<void> {
    this.#leaving = true;
    try {
      await this.#downstream.linger();
    } catch {
      // The client has disconnected, as expected.
    }
  }
}

/** Describes a rejected request as far as it is known. */
function describeHead(
  head: RequestHead | undefined,
): Pick<RejectedRequest, "version" | "method" | "authority" | "target"> {
  if (head === undefined) {
    return { version: "", method: "", authority: "", target: "" };
  }
  const { method, target, headers, minorVersion } = head;
  return {
    version: minorVersion === 0 ? "1.0" : "1.1",
    method,
    authority: headers.get("host") ?? "",
    target,
  };
}
