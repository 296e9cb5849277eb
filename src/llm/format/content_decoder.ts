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
  /** Share of the pushed bytes that was decoded, above 0 and up to 1; below 1 when decoding stopped. */
  readonly share: number;
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

/** Limits at which a decoder stops. */
export interface DecoderLimits {
  readonly maxBytes: number;
  /** Up to this size, an encoded byte may yield any number of bytes; beyond it 250. */
  readonly anyRatioBytes: number;
}

/** For content of clients. */
const strict: DecoderLimits = {
  maxBytes: 64 * 1024 * 1024,
  anyRatioBytes: 1024 * 1024,
};
/** For responses, which are decoded without being held: a stream of 200,000 tokens needs 70 MB, and repeats itself. */
export const responseLimits: DecoderLimits = {
  maxBytes: 128 * 1024 * 1024,
  anyRatioBytes: 128 * 1024 * 1024,
};
const MAX_RATIO = 250;
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Small, so that the share that was decoded is known. */
const MAX_WRITE_BYTES = 4096;
/** Nobody applies more codings than two. */
const MAX_CODINGS = 3;

/**
 * Creates a decoder for a `Content-Encoding`, of up to three codings; `undefined` when one is not supported.
 *
 * Decodes at most 64 MiB, and after the first MiB at most 250 bytes per encoded byte, unless `limits` are others; then it stops.
 * `sink` receives the output in order, synchronously or later.
 */
export function createDecoder(
  contentEncoding: string,
  sink: (bytes: Uint8Array) => void,
  limits: DecoderLimits = strict,
): ContentDecoder | undefined {
  if (contentEncoding === "identity") return new Identity(sink);
  const codings = contentEncoding.toLowerCase().split(",", MAX_CODINGS + 1)
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  if (codings.length > MAX_CODINGS) return undefined;
  let decoder: ContentDecoder = new Identity(sink);
  // In the order in which they were applied (RFC 9110 section 8.4).
  for (const coding of codings) {
    const open = inflaters.get(coding);
    if (open === undefined) return undefined;
    decoder = new InflatingDecoder(open, decoder, limits);
  }
  return decoder;
}

/** Reports whether content with a `Content-Encoding` can be decoded. */
export function isDecodable(contentEncoding: string): boolean {
  return createDecoder(contentEncoding, () => {}) !== undefined;
}

/** Returns the codings of `Accept-Encoding` that can be decoded: `gzip;q=0.5` of `gzip;q=0.5, dcb, *`. */
export function decodableCodings(acceptEncoding: string): string {
  const kept = acceptEncoding.split(",").filter((item) => {
    const [name = ""] = item.split(";", 1);
    const coding = name.trim().toLowerCase();
    return coding === "identity" || inflaters.has(coding);
  });
  return kept.join(",").trim() || "identity";
}

class Identity implements ContentDecoder {
  readonly share = 1;
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
  readonly #next: ContentDecoder;
  readonly #limits: DecoderLimits;
  readonly #settled = Promise.withResolvers<boolean>();
  #stream: Inflater | undefined;
  #isOver = false;
  #encodedBytes = 0;
  #decodedBytes = 0;
  #waitingBytes = 0;

  /** @param next Decodes the output. */
  constructor(open: Open, next: ContentDecoder, limits: DecoderLimits) {
    this.#limits = limits;
    this.#open = open;
    this.#next = next;
  }

  get share(): number {
    if (this.#encodedBytes === 0) return this.#next.share;
    // The write that was in progress when decoding stopped counts as decoded.
    const undecoded = Math.max(0, this.#waitingBytes - MAX_WRITE_BYTES);
    return (1 - undecoded / this.#encodedBytes) * this.#next.share;
  }

  push(bytes: Uint8Array): void {
    this.#encodedBytes += bytes.length;
    // Forwarding does not wait for decoding, which is slower.
    this.#waitingBytes += bytes.length;
    if (this.#isOver || bytes.length === 0) return;
    if (this.#waitingBytes > MAX_WAITING_BYTES) return this.#stop(false);
    this.#stream ??= this.#start(bytes[0] ?? 0);
    for (let at = 0; at < bytes.length; at += MAX_WRITE_BYTES) {
      // Not `slice`: that of a Buffer would share its memory, which is reused.
      const part = new Uint8Array(bytes.subarray(at, at + MAX_WRITE_BYTES));
      this.#stream.write(part, () => {
        if (!this.#isOver) this.#waitingBytes -= part.length;
      });
    }
  }

  async finish(): Promise<boolean> {
    if (this.#stream === undefined) this.#stop(true);
    else if (!this.#isOver) this.#stream.end();
    const isComplete = await this.#settled.promise;
    return await this.#next.finish() && isComplete;
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
      this.#limits.maxBytes,
      Math.max(this.#limits.anyRatioBytes, this.#encodedBytes * MAX_RATIO),
    );
    if (this.#decodedBytes > allowed) return this.#stop(false);
    this.#next.push(bytes);
  }

  #stop(isComplete: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (isComplete) this.#waitingBytes = 0;
    this.#settled.resolve(isComplete);
    this.#stream?.destroy();
  }
}
