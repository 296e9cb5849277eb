import type { Clock } from "../src/base/clock.ts";
import type { Log } from "../src/base/log/log.ts";

const RETRY_MS = 1000;

/** Dependencies of a `RestartingServer`. */
export interface RestartingServerOptions<A extends Deno.Addr> {
  /** @param addr Previous address; `undefined` the first time. */
  readonly open: (addr: A | undefined) => Deno.HttpServer<A>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A server that reopens when it ends by itself: `Deno.serve` ends when it runs out of file descriptors. */
export class RestartingServer<A extends Deno.Addr> {
  readonly addr: A;
  readonly #options: RestartingServerOptions<A>;
  #server: Deno.HttpServer<A>;
  #cancelRetry = () => {};
  #isClosed = false;

  /** @throws Errors of `open`. */
  constructor(options: RestartingServerOptions<A>) {
    this.#options = options;
    this.#server = options.open(undefined);
    this.addr = this.#server.addr;
    this.#reopenAfter(this.#server);
  }

  /** Stops accepting; resolves when the requests in progress have finished. */
  async shutdown(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    await this.#server.shutdown();
  }

  #reopenAfter({ finished }: Deno.HttpServer<A>): void {
    finished.catch((error) => {
      if (!this.#isClosed) this.#retryLater(error);
    });
  }

  #retryLater(error: unknown): void {
    const { clock, log } = this.#options;
    log.warn("Cannot accept connections", { error });
    this.#cancelRetry = clock.setTimer(() => this.#reopen(), RETRY_MS);
  }

  #reopen(): void {
    try {
      this.#server = this.#options.open(this.addr);
      this.#reopenAfter(this.#server);
      this.#options.log.info("Accepting connections again");
    } catch (error) {
      this.#retryLater(error);
    }
  }
}
