import { GatewayError } from "../../../base/errors.ts";
import { parseRequestHead, type RequestHead } from "../../http1/head_parser.ts";
import { HttpSyntaxError } from "../../http1/http_syntax_error.ts";
import type { RequestMessage } from "../../message.ts";
import type { Peer, Transport } from "../../transport.ts";
import type { ReadAheadListener } from "./client_input.ts";
import { ClientLink } from "../downstream_connection.ts";
import type { Client, ServerContext } from "../server_options.ts";
import {
  locateHead,
  skipEmptyLine,
  startsWithPreface,
} from "./head_locator.ts";
import { Http1Exchange } from "./http1_server_exchange.ts";
import type { RefusedRequest } from "../observer.ts";
import type { OpenConnection } from "../open_connection.ts";
import { toRequestError } from "../request_error.ts";

/** How long a request may be on its way that the client sent before it could know that the connection is closed. */
const UNDER_WAY_MS = 100;

/**
 * Serves one client's connection of HTTP/1.x: one request after the other, in order.
 *
 * A plain exchange is one read and one write.
 */
export class Http1Connection implements OpenConnection, ReadAheadListener {
  readonly protocol = "http/1.1";
  readonly openedAt: number;
  readonly #link: ClientLink;
  readonly #context: ServerContext;
  /** The request and response under way. */
  #exchange: Http1Exchange | undefined;
  /** A head whose request has not begun. */
  #head: RequestHead | undefined;
  #served = 0;
  #speaksHttp2 = false;
  /** Whether no further request is taken. */
  #leaving = false;
  #endReason: string | undefined;
  #stopWaiting: (() => void) | undefined;

  constructor(transport: Transport, client: Client, context: ServerContext) {
    this.#context = context;
    this.openedAt = context.clock.monotonic();
    this.#link = new ClientLink(transport, client, context, this);
  }

  get endReason(): string {
    return this.#endReason ?? "client closed";
  }

  get peer(): Peer {
    return this.#link.client.peer;
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
   * A client that speaks HTTP/2 without having been asked is left alone: resolves with what it sent so far, and the connection is
   * still open.
   */
  async run(): Promise<Uint8Array | undefined> {
    const { transport } = this.#link;
    transport.watch();
    try {
      await this.#serveAll();
      if (this.#speaksHttp2) return this.#takeInput();
      await this.#linger();
    } catch (error) {
      await this.#refuse(error);
    } finally {
      transport.unwatch();
      this.#stopWaiting?.();
      if (!this.#speaksHttp2) this.#link.close();
    }
  }

  /** Lets the request under way be the last, also one that has yet to arrive; a connection without one is closed. */
  retire(): void {
    this.#link.retiring = true;
    if (!this.#isIdle) return;
    this.#stopWaiting = this.#context.clock.setTimer(() => {
      if (this.#isIdle) this.#end("draining");
    }, UNDER_WAY_MS);
  }

  get #isIdle(): boolean {
    return this.#exchange === undefined && !this.#leaving &&
      this.#link.input.buffer.available === 0;
  }

  /** Cuts the connection; the request under way fails with `reason`. */
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
      this.#exchange = new Http1Exchange(head, this.#link);
      this.#head = undefined;
      const persists = await this.#exchange.run();
      this.#link.input.stopReadingAhead();
      this.#exchange = undefined;
      this.#served++;
      if (!persists) return this.#keepLastReason();
    }
  }

  #keepLastReason(): void {
    const { transport, retiring } = this.#link;
    if (transport.closed) this.#endReason ??= "request cut";
    else this.#endReason ??= retiring ? "draining" : "last request";
  }

  /** The next head; `undefined` when there is none that we are to answer. */
  async #readHead(): Promise<RequestHead | undefined> {
    const { limits, wheel } = this.#context;
    const { input, transport } = this.#link;
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
    const { client, input: { buffer } } = this.#link;
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
    const { buffer } = this.#link.input;
    return buffer.take(buffer.available);
  }

  #headExpired(): void {
    if (this.#leaving || this.#link.input.buffer.available === 0) {
      return this.#end("idle timeout");
    }
    this.#leaving = true;
    const error = new GatewayError(
      "request_timeout",
      "downstream",
      "Cannot read the request: its head did not arrive in time",
    );
    void this.#reject(error).then(() => this.#link.close());
  }

  #end(reason: string): void {
    this.#endReason ??= reason;
    this.#link.close();
  }

  /** Answers what is not a request; other errors mean that there is nobody to answer. */
  async #refuse(error: unknown): Promise<void> {
    const isRefusal = error instanceof HttpSyntaxError ||
      error instanceof GatewayError;
    if (!isRefusal) {
      this.#endReason ??= "connection broke";
      return;
    }
    await this.#reject(toRequestError(error));
    await this.#linger();
  }

  async #reject(error: GatewayError): Promise<void> {
    this.#endReason ??= error.code;
    const rejection = await this.#link.reject(error);
    const source = this.#link.client.peer;
    const seen = describeHead(this.#head);
    this.#context.observer.requestRefused({
      error,
      source,
      ...seen,
      ...rejection,
    });
  }

  async #linger(): Promise<void> {
    this.#leaving = true;
    try {
      await this.#link.linger();
    } catch {
      // The client has hung up, which is what we waited for.
    }
  }
}

/** What can be told of a request that was refused. */
function describeHead(
  head: RequestHead | undefined,
): Pick<RefusedRequest, "version" | "method" | "authority" | "target"> {
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
