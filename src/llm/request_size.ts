import { Buffer } from "node:buffer";

const QUOTE = 0x22;
/** In smaller bodies, media cannot distort an estimate by much. */
const MIN_BODY_BYTES = 16 * 1024;
const MIN_MEDIA_BYTES = 4096;
const SAMPLE_BYTES = 256;
/** Cost of an image or a page at most providers, in bytes of text: about 1,000 tokens. */
const BYTES_PER_MEDIUM = 4000;
const dataUrl = /^data:[\w.+/;=-]*,/;
const base64 = /^[\w+/=-]*$/;
/** Matches the beginning of a member with media, under the names of all providers. */
const mediaKey =
  /"(?:url|image_url|data|bytes|file_data|image|audio|video|b64_json)"\s*:\s*$/;
const MAX_KEY_BYTES = 64;

/**
 * Returns the size of a request's body, with 4,000 bytes for each image or other medium in Base64: providers do not bill them by the
 * byte.
 */
export function textSizeOf(body: Uint8Array): number {
  if (body.length < MIN_BODY_BYTES) return body.length;
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.length);
  let size = body.length;
  let start = 0;
  // Between two quotes is a string, or the separator of strings; Base64 has no escapes. `indexOf` would take longer for short strings,
  // of which a client may send millions.
  for (let end = 0; end <= body.length; end++) {
    if (end < body.length && body[end] !== QUOTE) continue;
    if (end - start >= MIN_MEDIA_BYTES && isMedia(buffer, start, end)) {
      size -= Math.max(0, end - start - BYTES_PER_MEDIUM);
    }
    start = end + 1;
  }
  return size;
}

/** Returns whether a string is media, by its name and by samples: text has spaces and punctuation. */
function isMedia(buffer: Buffer, start: number, end: number): boolean {
  const before = buffer.toString(
    "latin1",
    Math.max(0, start - 1 - MAX_KEY_BYTES),
    Math.max(0, start - 1),
  );
  if (!mediaKey.test(before)) return false;
  const beginning = sample(buffer, start).replace(dataUrl, "");
  const middle = sample(buffer, (start + end) >> 1);
  return [beginning, middle, sample(buffer, end - SAMPLE_BYTES)]
    .every((text) => base64.test(text));
}

function sample(buffer: Buffer, start: number): string {
  return buffer.toString(
    "latin1",
    start,
    start + SAMPLE_BYTES,
  );
}
