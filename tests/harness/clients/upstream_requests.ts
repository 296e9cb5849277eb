import { Cancellation } from "../../../src/base/cancellation.ts";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { GatewayError } from "../../../src/base/errors.ts";
import type { Body } from "../../../src/http/body.ts";
import {
  type Upstream,
  type UpstreamOptions,
  type UpstreamRequest,
} from "../../../src/http/client/upstream.ts";
import { createUpstream } from "../../../src/http/client/pool/pooled_upstream.ts";
import { HeaderList } from "../../../src/http/header_list.ts";
import type { ResponseMessage } from "../../../src/http/message.ts";

/** Options that differ by what is given from `127.0.0.1:80` without limits of its own. */
export function optionsOf(
  changes: Partial<UpstreamOptions> = {},
): UpstreamOptions {
  return {
    host: "127.0.0.1",
    port: 80,
    protocol: "auto",
    tls: undefined,
    ...changes,
  };
}

/** The upstream at that port of the loopback, closed at the end of the scope. */
export function upstreamAt(
  port: number,
  options?: Partial<UpstreamOptions>,
  clock: Clock = systemClock,
): Upstream & Disposable {
  const upstream = createUpstream(optionsOf({ port, ...options }), clock);
  return Object.assign(upstream, {
    [Symbol.dispose]: () => upstream.close(),
  });
}

/** The error that the promise rejects with. */
export async function failureOf(
  promise: Promise<unknown>,
): Promise<GatewayError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("Expected a failure, got none");
}

/** A request that differs from `GET /` by what is given. */
export function requestOf(
  changes: Partial<UpstreamRequest> = {},
): UpstreamRequest {
  return {
    method: "GET",
    authority: "a.example",
    target: "/",
    headers: new HeaderList(),
    upgrade: undefined,
    expectsContinue: false,
    sendInformational: () => {},
    ...changes,
  };
}

/** Sends a request with its body; nobody cancels it unless `cancellation` is given. */
export function send(
  upstream: Upstream,
  changes?: Partial<UpstreamRequest>,
  body?: Body,
  cancellation = new Cancellation(),
): Promise<ResponseMessage> {
  return upstream.send(requestOf(changes), body, cancellation);
}

/** The whole body as text. */
export async function readText(body: Body | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (
    let chunk = await body?.read();
    chunk !== undefined;
    chunk = await body?.read()
  ) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/** Sends a request and reads the answer: `"200 ok"`. */
export async function exchange(
  upstream: Upstream,
  changes?: Partial<UpstreamRequest>,
  body?: Body,
): Promise<string> {
  const response = await send(upstream, changes, body);
  return `${response.status} ${await readText(response.body)}`;
}

/** A body that is fed by hand. */
export class PushBody implements Body {
  readonly length: number | undefined;
  trailers: HeaderList | undefined;
  cancelledWith: unknown;
  #chunks: (Uint8Array | undefined)[] = [];
  #wake: (() => void) | undefined;
  #error: unknown;
  reads = 0;

  constructor(length?: number) {
    this.length = length;
  }

  push(text: string): void {
    this.#chunks.push(new TextEncoder().encode(text));
    this.#wake?.();
  }

  end(trailers?: HeaderList): void {
    this.trailers = trailers;
    this.#chunks.push(undefined);
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#error = error;
    this.#wake?.();
  }

  async read(): Promise<Uint8Array | undefined> {
    this.reads++;
    while (this.#chunks.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#chunks.shift();
  }

  cancel(reason: unknown): void {
    this.cancelledWith = reason;
    this.fail(reason);
  }
}
