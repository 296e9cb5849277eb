import { Buffer } from "node:buffer";

const QUOTE = 0x22;
/** In smaller bodies, media cannot distort an estimate by much. */
const minBodyBytes = 16 * 1024;
const minMediaBytes = 4096;
const sampleBytes = 256;
/** What an image or a page costs at most providers, as so many bytes of text: about 1,000 tokens. */
const bytesPerMedium = 4000;
const base64 = /^(?:data:[\w.+/;=-]*,)?[\w+/=-]*$/;

/**
 * The size of a request's body with images and other media as Base64 counted like 4,000 bytes of text each, whatever their size:
 * providers do not bill them by the byte.
 */
export function textSizeOf(body: Uint8Array): number {
  if (body.length < minBodyBytes) return body.length;
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.length);
  let size = body.length;
  let start = 0;
  // Between two quotes there is a string or what separates strings; escapes do not occur in Base64.
  for (;;) {
    const quote = buffer.indexOf(QUOTE, start);
    const end = quote < 0 ? body.length : quote;
    if (end - start >= minMediaBytes && isBase64(buffer, start)) {
      size -= Math.max(0, end - start - bytesPerMedium);
    }
    if (quote < 0) return size;
    start = quote + 1;
  }
}

/** Judges by the beginning: text has blanks and punctuation. */
function isBase64(buffer: Buffer, start: number): boolean {
  return base64.test(buffer.toString("latin1", start, start + sampleBytes));
}
