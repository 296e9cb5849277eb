import type { ClientHttp2Stream } from "node:http2";
import type { Body } from "../../body.ts";
import type { HeaderList } from "../../header_list.ts";
import { fieldsOf } from "./http2_client_fields.ts";

/** The exchange that a body belongs to. */
export interface Http2BodyOwner {
  /** Called before each wait for bytes. */
  waitingForBody(): void;
  /** Called when the wait is over. */
  bodyArrived(): void;
  /** Called once, after the last byte. */
  bodyEnded(): void;
  /** Called once, when the rest is not wanted. */
  bodyAbandoned(reason: unknown): void;
  /** Why the stream ended before the body. */
  bodyFailure(): Error;
}

/** The body of a response on an HTTP/2 stream; unread bytes stay within the stream's flow-control window. */
export class Http2ResponseBody implements Body {
  readonly length: number | undefined;
  trailers: HeaderList | undefined;
  readonly #stream: ClientHttp2Stream;
  readonly #owner: Http2BodyOwner;
  #received = 0;
  #wake: (() => void) | undefined;
  #state: "open" | "ended" | "closed" | "done" = "open";

  constructor(
    stream: ClientHttp2Stream,
    length: number | undefined,
    owner: Http2BodyOwner,
  ) {
    this.length = length;
    this.#stream = stream;
    this.#owner = owner;
    stream.on("readable", () => this.#wake?.());
    stream.on("end", () => this.#settle("ended"));
  }

  /** @throws {HttpSyntaxError} When they could not be sent in HTTP/1.1. */
  setTrailers(raw: readonly string[]): void {
    const trailers = fieldsOf(raw);
    trailers.delete("content-length");
    this.trailers = trailers;
  }

  /** The stream is gone: what has not come does not. */
  closed(): void {
    this.#settle("closed");
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    return this.#take() ?? this.#wait();
  }

  cancel(reason: unknown): void {
    if (this.#state === "done") return;
    this.#state = "done";
    this.#owner.bodyAbandoned(reason);
  }

  async #wait(): Promise<Uint8Array | undefined> {
    while (this.#state === "open") {
      this.#owner.waitingForBody();
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#owner.bodyArrived();
      const chunk = this.#take();
      if (chunk !== undefined) return chunk;
    }
    if (this.#state === "done") return undefined;
    const isWhole = this.#state === "ended" &&
      (this.length === undefined || this.length === this.#received);
    this.#state = "done";
    if (!isWhole) throw this.#owner.bodyFailure();
    this.#owner.bodyEnded();
    return undefined;
  }

  #take(): Uint8Array | undefined {
    if (this.#state === "done") return undefined;
    const chunk: unknown = this.#stream.read();
    if (!(chunk instanceof Uint8Array) || chunk.length === 0) return undefined;
    this.#received += chunk.length;
    return chunk;
  }

  #settle(state: "ended" | "closed"): void {
    if (this.#state === "open") this.#state = state;
    this.#wake?.();
  }
}
