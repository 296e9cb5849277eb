import { pipeline, Readable } from "node:stream";
import { constants, createGzip, gzipSync } from "node:zlib";

/** Whether `Accept-Encoding` names gzip with a weight above zero (RFC 9110 section 12.5.3). */
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

/** Compresses a stream so that every chunk can be read as soon as it is written, unlike `CompressionStream`. */
export function gzipStream(
  chunks: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  const compressed = createGzip({ flush: constants.Z_SYNC_FLUSH });
  // A failure on the way reaches whoever reads.
  pipeline(Readable.from(chunks), compressed, () => {});
  return ReadableStream.from<Uint8Array>(compressed);
}
