import type { Log } from "../../base/log/log.ts";
import type { Clock } from "../../base/clock.ts";
import type { Deliveries } from "./deliveries.ts";
import {
  DELIVERY_PATH,
  type DeliveryMessage,
} from "../source/delivery_messages.ts";
import type { KeyPair } from "./self_signed.ts";
import { type TokenReviews, TooManyReviewsError } from "./token_reviews.ts";

/** Dependencies of serving proxies. */
export interface DeliveryServerOptions {
  readonly hostname: string;
  readonly port: number;
  readonly certificate: KeyPair;
  readonly clock: Clock;
  readonly log: Log;
  readonly reviews: TokenReviews;
  readonly deliveries: Deliveries;
  /** Returns the gateway whose proxies have a service account, as `namespace/name`. */
  readonly gatewayOf: (account: string) => string | undefined;
  /** Reports whether the cluster has been read. */
  readonly isReady: () => boolean;
}

/** Streams of one gateway at most, more than it can have proxies. */
const MAX_STREAMS = 2000;
const RETRY_SECONDS = 1;

/** Serves each proxy the part of the cluster that is its gateway's, over TLS, by the token of its service account. */
export class DeliveryServer implements AsyncDisposable {
  readonly #options: DeliveryServerOptions;
  #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #stop = new AbortController();
  readonly #streams = new Map<string, number>();

  constructor(options: DeliveryServerOptions) {
    this.#options = options;
    this.#server = this.#open(options.port);
  }

  /** @throws {Error} When the port cannot be opened. */
  #open(port: number): Deno.HttpServer<Deno.NetAddr> {
    const { hostname, certificate, log } = this.#options;
    const server = Deno.serve({
      ...{ hostname, port, ...certificate },
      onListen() {},
      onError: (error) => {
        log.warn("Cannot serve a proxy", { error });
        return reject(500, "internal error");
      },
    }, (request) => this.#respond(request));
    // It ends when the process has no file descriptors left.
    server.finished.catch((error) => this.#reopenLater(error));
    return server;
  }

  #reopenLater(error: unknown): void {
    const { clock, log } = this.#options;
    if (this.#stop.signal.aborted) return;
    log.warn("Cannot accept connections of proxies", { error });
    const { port } = this;
    clock.setTimer(() => {
      if (this.#stop.signal.aborted) return;
      try {
        this.#server = this.#open(port);
      } catch (cause) {
        this.#reopenLater(cause);
      }
    }, RETRY_SECONDS * 1000);
  }

  get port(): number {
    return this.#server.addr.port;
  }

  async #respond(request: Request): Promise<Response> {
    const { reviews, gatewayOf, isReady, log } = this.#options;
    if (new URL(request.url).pathname !== DELIVERY_PATH) {
      return reject(404, "not found");
    }
    if (request.method !== "GET") return reject(405, "expected GET");
    const [, token] =
      /^Bearer (\S+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
    if (token === undefined) return reject(401, "no token");
    if (!isReady()) return reject(503, "the cluster has not been read yet");
    let account: string | undefined;
    try {
      account = await reviews.accountOf(token);
    } catch (error) {
      if (!(error instanceof TooManyReviewsError)) {
        log.warn("Cannot review the token of a proxy", { error });
      }
      return reject(503, "the token cannot be reviewed now");
    }
    if (account === undefined) return reject(401, "the token is not valid");
    const gateway = gatewayOf(account);
    if (gateway === undefined) {
      return reject(403, `no Gateway has proxies with account "${account}"`);
    }
    return this.#stream(gateway, request.signal);
  }

  #stream(gateway: string, gone: AbortSignal): Response {
    if ((this.#streams.get(gateway) ?? 0) >= MAX_STREAMS) {
      return reject(429, "too many proxies");
    }
    const signal = AbortSignal.any([this.#stop.signal, gone]);
    const body = ReadableStream.from(this.#encode(gateway, signal));
    return new Response(body, {
      headers: { "content-type": "application/x-ndjson" },
    });
  }

  async *#encode(
    gateway: string,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const encoder = new TextEncoder();
    this.#streams.set(gateway, (this.#streams.get(gateway) ?? 0) + 1);
    try {
      const following = this.#options.deliveries.follow(gateway, signal);
      for await (const messages of following) {
        yield encoder.encode(messages.map(format).join(""));
      }
    } finally {
      const left = (this.#streams.get(gateway) ?? 1) - 1;
      if (left === 0) this.#streams.delete(gateway);
      else this.#streams.set(gateway, left);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#server.shutdown();
  }
}

function format(message: DeliveryMessage): string {
  return `${JSON.stringify(message)}\n`;
}

/** Rejects in the form of the API server, which clients of both read. */
function reject(code: number, message: string): Response {
  return Response.json({ kind: "Status", code, message }, {
    status: code,
    headers: code === 503 ? { "retry-after": String(RETRY_SECONDS) } : {},
  });
}
