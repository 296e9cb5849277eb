import { latin1 } from "../../base/bytes.ts";
import { BYTES_PER_TOKEN } from "../usage/output_estimate.ts";
import { MAX_TOKEN_COUNT } from "../usage/usage_report.ts";

/** An image, a page or a recording in Base64: the most that a provider documents for an image of the usual size. */
const TOKENS_PER_MEDIUM = 1600;
/** Shorter strings count as text. */
const MIN_MEDIUM_BYTES = 2048;
/** Bytes before a string in which its name has to be. */
const MAX_NAME_BYTES = 32;
/** Members that hold media, under the names of all providers. */
const mediumName =
  /(?:^|[^\\])"(?:url|image_url|data|bytes|file_data|image|audio|video|b64_json)"\s{0,4}:\s{0,4}$/;
const medium = /^(?:data:[\w.+/;=-]*,)?[\w+/=\\-]*$/;

/** Estimates the input tokens of a request: one for three bytes, and 1,600 for each medium in Base64. */
export function estimateInput(body: Uint8Array): number {
  let [bytes, media] = [body.length, 0];
  for (const length of mediaOf(body)) {
    bytes -= length;
    media++;
  }
  return tokensOf(bytes / BYTES_PER_TOKEN + media * TOKENS_PER_MEDIUM);
}

/** Estimates the input of a body that cannot be read, by its length. */
export function estimateUnread(bytes: number): number {
  return tokensOf(bytes / BYTES_PER_TOKEN);
}

function tokensOf(estimate: number): number {
  return Math.min(Math.ceil(estimate), MAX_TOKEN_COUNT);
}

/** Returns the lengths of the media in JSON. Quotes in strings are escaped, and those of names are not. */
function* mediaOf(body: Uint8Array): Generator<number, void> {
  if (body.length < MIN_MEDIUM_BYTES) return;
  const text = latin1(body);
  let start = text.indexOf('"') + 1;
  while (start > 0) {
    const end = text.indexOf('"', start);
    if (end - start >= MIN_MEDIUM_BYTES) {
      const before = text.slice(
        Math.max(0, start - 1 - MAX_NAME_BYTES),
        start - 1,
      );
      const value = text.slice(start, end);
      if (mediumName.test(before) && medium.test(value)) yield end - start;
    }
    start = end + 1;
  }
}
