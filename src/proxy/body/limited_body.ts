import { GatewayError } from "../../base/errors.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage } from "../../http/message.ts";

/**
 * Limits a request's body to `maxBytes`: at once when its length is known, else as soon as it is longer.
 * @throws {GatewayError} `body_too_large`; also thrown by the body's `read`.
 */
export function limitBody(
  request: RequestMessage,
  maxBytes: number | undefined,
): void {
  const { body } = request;
  if (body === undefined || maxBytes === undefined) return;
  if (body.length === undefined) request.body = new LimitedBody(body, maxBytes);
  else if (body.length > maxBytes) throw bodyTooLarge(maxBytes);
}

class LimitedBody implements Body {
  readonly length = undefined;
  readonly #source: Body;
  readonly #maxBytes: number;
  #seenBytes = 0;

  constructor(source: Body, maxBytes: number) {
    this.#source = source;
    this.#maxBytes = maxBytes;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const next = this.#source.read();
    if (next instanceof Promise) {
      return next.then((chunk) => this.#count(chunk));
    }
    return this.#count(next);
  }

  cancel(reason: unknown): void {
    this.#source.cancel(reason);
  }

  #count(
    chunk: Uint8Array | undefined,
  ): Uint8Array | undefined | Promise<never> {
    this.#seenBytes += chunk?.length ?? 0;
    if (this.#seenBytes <= this.#maxBytes) return chunk;
    const error = bodyTooLarge(this.#maxBytes);
    this.#source.cancel(error);
    return Promise.reject(error);
  }
}

function bodyTooLarge(maxBytes: number): GatewayError {
  return new GatewayError(
    "body_too_large",
    "downstream",
    `Cannot accept a body of more than ${maxBytes} bytes`,
  );
}
