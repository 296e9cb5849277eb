import { pipeline, Readable } from "node:stream";
import { constants, createGzip, gzipSync } from "node:zlib";

/** Reports whether `Accept-Encoding` has gzip with a weight above zero (RFC 9110 section 12.5.3). */
export function acceptsGzip(headers: Headers): boolean {
  const codings = (headers.get("accept-encoding") ?? "").toLowerCase().split(
    ",",
  );
  return codings.some((coding) => {
    const [name, weight = ""] = coding.split(";", 2).map((part) => part.trim());
    return name === "gzip" && Number(weight.replace("q=", "") || 1) > 0;
  });
}

/** Compresses a whole body; equal bytes give equal bytes. */
export function gzip(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(bytes));
}

/** Compresses a stream and flushes after every chunk, unlike `CompressionStream`. */
export function gzipStream(
  chunks: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  const compressed = createGzip({ flush: constants.Z_SYNC_FLUSH });
  // An error of the pipeline reaches the reader of the stream.
  pipeline(Readable.from(chunks), compressed, () => {});
  return ReadableStream.from<Uint8Array>(compressed);
}
