import { GrowingBuffer } from "../../base/bytes.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";

/** A copy that lags further behind is dropped. */
const MAX_LAG_BYTES = 1024 * 1024;

/**
 * Reads `source` once for two bodies: the original at its own pace, the copy from what the original has read.
 *
 * The copy never slows the original down: it fails when it is more than 1 MiB behind.
 */
export function mirrorBody(
  source: Body,
): { readonly original: Body; readonly copy: Body } {
  const copy = new CopiedBody(source);
  return { original: new ObservedBody(source, copy), copy };
}

class ObservedBody implements Body {
  readonly length: number | undefined;

  constructor(readonly source: Body, readonly copy: CopiedBody) {
    this.length = source.length;
  }

  get trailers(): HeaderList | undefined {
    return this.source.trailers;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const next = this.source.read();
    if (!(next instanceof Promise)) return this.#observe(next);
    return next.then((chunk) => this.#observe(chunk), (error: unknown) => {
      this.copy.fail(error);
      throw error;
    });
  }

  cancel(reason: unknown): void {
    this.source.cancel(reason);
    this.copy.fail(reason);
  }

  #observe(chunk: Uint8Array | undefined): Uint8Array | undefined {
    if (chunk === undefined) this.copy.end();
    else this.copy.push(chunk);
    return chunk;
  }
}

class CopiedBody implements Body {
  readonly length: number | undefined;
  readonly #source: Body;
  readonly #queue = new GrowingBuffer();
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(source: Body) {
    this.length = source.length;
    this.#source = source;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  push(chunk: Uint8Array): void {
    if (this.#failure !== undefined) return;
    if (this.#queue.length + chunk.length > MAX_LAG_BYTES) {
      this.fail(
        new RangeError(
          `Cannot mirror the body: more than ${MAX_LAG_BYTES} bytes behind`,
        ),
      );
      return;
    }
    this.#queue.append(chunk);
    this.#wakeReader();
  }

  end(): void {
    this.#ended = true;
    this.#wakeReader();
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#queue.take();
    this.#wakeReader();
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#queue.length > 0) return this.#queue.take();
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  cancel(reason: unknown): void {
    this.fail(reason);
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
