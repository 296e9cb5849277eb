import { answer, RawUpstream } from "../clients/raw_upstream.ts";

/** An upstream with a health check at `/healthz`. */
export class CheckedUpstream extends RawUpstream {
  /** Status of the next checks. */
  health = 200;
  /** Heads of the checks so far. */
  readonly checks: string[] = [];
  readonly #waiting = new Set<{ until: number; resolve: () => void }>();

  /** @param text Body of other responses. */
  constructor(text: string, port?: number) {
    super(async (connection) => {
      for (;;) {
        const request = await connection.request();
        if (!request.startsWith("GET /healthz ")) {
          await connection.send(answer(text));
          continue;
        }
        this.#checked(request);
        await connection.send(
          `HTTP/1.1 ${this.health} Status\r\nContent-Length: 0\r\n\r\n`,
        );
      }
    }, port);
  }

  /** Resolves when `count` further checks have arrived: the gateway has seen the response to the one before the last. */
  async nextChecks(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add({ until: this.checks.length + count, resolve });
    await promise;
  }

  #checked(request: string): void {
    this.checks.push(request);
    for (const waiting of this.#waiting) {
      if (this.checks.length < waiting.until) continue;
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
  }
}
