import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";

/** Undoes a content coding beside the body that goes to the client. Owned by whoever made it, who must call `finish`. */
export interface ContentDecoder {
  /** The next bytes of the body; they are copied where they are needed longer. */
  push(bytes: Uint8Array): void;
  /**
   * Resolves when all that can be decoded has gone to the sink: `false` when the content is damaged or a bomb.
   *
   * Content that is cut short may pass for complete: not every coding notices.
   */
  finish(): Promise<boolean>;
}

type Inflater =
  | ReturnType<typeof createGunzip>
  | ReturnType<typeof createInflate>
  | ReturnType<typeof createInflateRaw>
  | ReturnType<typeof createBrotliDecompress>
  | ReturnType<typeof createZstdDecompress>;

/** Makes the inflater once the first byte is there. */
type Open = (firstByte: number) => Inflater;

const inflaters: ReadonlyMap<string, Open> = new Map<string, Open>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["br", () => createBrotliDecompress()],
  ["zstd", () => createZstdDecompress()],
  // Servers disagree on whether deflate has the zlib header of RFC 1950.
  [
    "deflate",
    (first) => (first & 0x0f) === 8 ? createInflate() : createInflateRaw(),
  ],
]);

const MAX_DECODED_BYTES = 64 * 1024 * 1024;
const MAX_RATIO = 250;
/** Small bodies may have any ratio. */
const FREE_DECODED_BYTES = 1024 * 1024;
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/**
 * A decoder for that `Content-Encoding`, `undefined` when we cannot undo it.
 *
 * Decodes at most 64 MiB, and after the first MiB 250 bytes per byte; then it stops. What comes out goes to `sink`, in order, at
 * once or later.
 */
export function createDecoder(
  contentEncoding: string,
  sink: (bytes: Uint8Array) => void,
): ContentDecoder | undefined {
  const coding = contentEncoding.trim().toLowerCase();
  if (coding === "identity" || coding === "") return new Identity(sink);
  const open = inflaters.get(coding);
  return open === undefined ? undefined : new InflatingDecoder(open, sink);
}

class Identity implements ContentDecoder {
  readonly #sink: (bytes: Uint8Array) => void;

  constructor(sink: (bytes: Uint8Array) => void) {
    this.#sink = sink;
  }

  push(bytes: Uint8Array): void {
    this.#sink(bytes);
  }

  finish(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

class InflatingDecoder implements ContentDecoder {
  readonly #open: Open;
  readonly #sink: (bytes: Uint8Array) => void;
  readonly #settled = Promise.withResolvers<boolean>();
  #stream: Inflater | undefined;
  #isOver = false;
  #encodedBytes = 0;
  #decodedBytes = 0;
  #waitingBytes = 0;

  constructor(
    open: Open,
    sink: (bytes: Uint8Array) => void,
  ) {
    this.#open = open;
    this.#sink = sink;
  }

  push(bytes: Uint8Array): void {
    if (this.#isOver || bytes.length === 0) return;
    this.#encodedBytes += bytes.length;
    this.#waitingBytes += bytes.length;
    // Decoding is slower than relaying, and the relay does not wait for it.
    if (this.#waitingBytes > MAX_WAITING_BYTES) return this.#stop(false);
    this.#stream ??= this.#start(bytes[0] ?? 0);
    // Not slice: a Buffer would share its memory, which is filled again.
    this.#stream.write(new Uint8Array(bytes), () => {
      this.#waitingBytes -= bytes.length;
    });
  }

  finish(): Promise<boolean> {
    if (this.#stream === undefined) this.#stop(true);
    else if (!this.#isOver) this.#stream.end();
    return this.#settled.promise;
  }

  #start(first: number): Inflater {
    const stream = this.#open(first);
    stream.on("data", (bytes: Uint8Array) => this.#take(bytes));
    stream.on("end", () => this.#stop(true));
    stream.on("error", () => this.#stop(false));
    return stream;
  }

  #take(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#decodedBytes += bytes.length;
    const allowed = Math.min(
      MAX_DECODED_BYTES,
      Math.max(FREE_DECODED_BYTES, this.#encodedBytes * MAX_RATIO),
    );
    if (this.#decodedBytes > allowed) return this.#stop(false);
    this.#sink(bytes);
  }

  #stop(isComplete: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settled.resolve(isComplete);
    this.#stream?.destroy();
  }
}
