import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";

/** Decodes a copy of a body for inspection. The creator must call `finish`. */
export interface ContentDecoder {
  /** Takes the next bytes of the body; copies them if needed. */
  push(bytes: Uint8Array): void;
  /**
   * Resolves when everything has been decoded; `false` when the content is corrupt or a decompression bomb.
   *
   * Truncated content may count as complete: not every coding detects it.
   */
  finish(): Promise<boolean>;
}

type Inflater =
  | ReturnType<typeof createGunzip>
  | ReturnType<typeof createInflate>
  | ReturnType<typeof createInflateRaw>
  | ReturnType<typeof createBrotliDecompress>
  | ReturnType<typeof createZstdDecompress>;

/** Creates the inflater when the first byte arrives. */
type Open = (firstByte: number) => Inflater;

const inflaters: ReadonlyMap<string, Open> = new Map<string, Open>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["br", () => createBrotliDecompress()],
  ["zstd", () => createZstdDecompress()],
  // Some servers send deflate without the zlib header of RFC 1950.
  [
    "deflate",
    (first) => (first & 0x0f) === 8 ? createInflate() : createInflateRaw(),
  ],
]);

const MAX_DECODED_BYTES = 64 * 1024 * 1024;
const MAX_RATIO = 250;
/** The ratio is not limited below this size. */
const UNLIMITED_RATIO_BYTES = 1024 * 1024;
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/**
 * Creates a decoder for a `Content-Encoding`; `undefined` when the coding is not supported.
 *
 * Decodes at most 64 MiB, and after the first MiB at most 250 bytes per encoded byte; then it stops. `sink` receives the output in
 * order, synchronously or later.
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
    // Forwarding does not wait for decoding, which is slower.
    if (this.#waitingBytes > MAX_WAITING_BYTES) return this.#stop(false);
    this.#stream ??= this.#start(bytes[0] ?? 0);
    // Not `slice`: that of a Buffer would share its memory, which is reused.
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
      Math.max(UNLIMITED_RATIO_BYTES, this.#encodedBytes * MAX_RATIO),
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
