import { latin1 } from "../../base/bytes.ts";
import { messageWork, runToEnd } from "../../base/slices.ts";
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
const mediumStart = /^(?:data:[\w.+/;=-]*,)?/;
const mediumContent = /^[\w+/=\\-]*$/;

/** Bytes that are read at a time, in at most 5 ms. */
const STEP_BYTES = 1024 * 1024;
const QUOTE = 0x22;

/** Estimates the input tokens of a request: one for three bytes, and 1,600 for each medium in Base64. */
export function estimateInput(body: Uint8Array): number {
  return runToEnd(estimateInSteps(body));
}

/** The same, yielding to the event loop: a body may have 32 MiB. */
export async function estimateLongInput(body: Uint8Array): Promise<number> {
  const steps = estimateInSteps(body);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await messageWork.pass();
  }
}

/** Estimates the input of a body that cannot be read, by its length. */
export function estimateUnread(bytes: number): number {
  return tokensOf(bytes / BYTES_PER_TOKEN);
}

function tokensOf(estimate: number): number {
  return Math.min(Math.ceil(estimate), MAX_TOKEN_COUNT);
}

/** Looks for long strings between two quotes: quotes in strings are escaped, and those of names are not. */
function* estimateInSteps(body: Uint8Array): Generator<void, number> {
  let [bytes, media] = [body.length, 0];
  let [step, start] = [STEP_BYTES, body.indexOf(QUOTE) + 1];
  while (start > 0 && start + MIN_MEDIUM_BYTES <= body.length) {
    if (start >= step) {
      step = start + STEP_BYTES;
      yield;
    }
    // From the end, as most strings are shorter.
    const last = body.subarray(start, start + MIN_MEDIUM_BYTES)
      .lastIndexOf(QUOTE);
    if (last >= 0) {
      start += last + 1;
      continue;
    }
    const end = body.indexOf(QUOTE, start + MIN_MEDIUM_BYTES);
    if (end < 0) break;
    if (yield* isMedium(body, start, end)) {
      bytes -= end - start;
      media++;
    }
    start = end + 1;
  }
  return tokensOf(bytes / BYTES_PER_TOKEN + media * TOKENS_PER_MEDIUM);
}

/** Reports whether a string is a medium: by its name, and by all of its content. */
function* isMedium(
  body: Uint8Array,
  start: number,
  end: number,
): Generator<void, boolean> {
  const name = body.subarray(
    Math.max(0, start - 1 - MAX_NAME_BYTES),
    start - 1,
  );
  if (!mediumName.test(latin1(name))) return false;
  const head = latin1(body.subarray(start, start + MIN_MEDIUM_BYTES));
  let at = start + (mediumStart.exec(head)?.[0].length ?? 0);
  for (; at < end; at += STEP_BYTES) {
    const part = body.subarray(at, Math.min(end, at + STEP_BYTES));
    if (!mediumContent.test(latin1(part))) return false;
    if (end - at > STEP_BYTES) yield;
  }
  return true;
}
