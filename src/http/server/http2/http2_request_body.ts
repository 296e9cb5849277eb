import type { ServerHttp2Stream } from "node:http2";
import { GatewayError } from "../../../base/errors.ts";
import type { Body } from "../../body.ts";
import type { HeaderList } from "../../header_list.ts";
import { badRequest } from "../request_error.ts";

/** What a body tells the exchange that it belongs to. */
export interface Http2BodyOwner {
  /** Called before each wait for bytes. */
  waitingForBody(): void;
  /** Called when the wait is over. */
  bodyArrived(): void;
}

/** The body of a request on an HTTP/2 stream; what is not read stays within the flow-control window. */
export class Http2RequestBody implements Body {
  readonly length: number | undefined;
  trailers: HeaderList | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #owner: Http2BodyOwner;
  #received = 0;
  #ended = false;
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(
    stream: ServerHttp2Stream,
    length: number | undefined,
    owner: Http2BodyOwner,
  ) {
    this.length = length;
    this.#stream = stream;
    this.#owner = owner;
    const wake = () => this.#wake?.();
    stream.on("readable", wake);
    stream.on("close", wake);
    stream.on("end", () => {
      this.#ended = true;
      wake();
    });
  }

  /** Whether the client sent all of it and all was read. */
  get ended(): boolean {
    return this.#ended;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    return this.#take() ?? this.#wait();
  }

  cancel(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake?.();
  }

  async #wait(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#take();
      if (chunk !== undefined) return chunk;
      // A stream that was reset ends as well; that is not the end of the body.
      if (this.#stream.aborted) this.cancel(connectionLost());
      if (this.#failure !== undefined) throw this.#failure.reason;
      if (this.#ended) return this.#finish();
      if (this.#stream.destroyed) this.cancel(connectionLost());
      else await this.#untilWoken();
    }
  }

  async #untilWoken(): Promise<void> {
    this.#owner.waitingForBody();
    await new Promise<void>((resolve) => this.#wake = resolve);
    this.#wake = undefined;
    this.#owner.bodyArrived();
  }

  #take(): Uint8Array | undefined {
    if (this.#failure !== undefined || this.#stream.destroyed) return undefined;
    const chunk: unknown = this.#stream.read();
    if (!(chunk instanceof Uint8Array) || chunk.length === 0) return undefined;
    this.#received += chunk.length;
    return chunk;
  }

  #finish(): undefined {
    if (this.length === undefined || this.length === this.#received) return;
    const failure = badRequest(
      `Cannot read the body: expected ${this.length} bytes, got ${this.#received}`,
    );
    this.cancel(failure);
    throw failure;
  }
}

function connectionLost(): GatewayError {
  return new GatewayError(
    "client_closed",
    "downstream",
    "Cannot read the body: the client reset the stream",
  );
}
