/**
 * Trace contexts of the W3C recommendation "Trace Context".
 *
 * @module
 */

/** A span that is the parent of another, as `traceparent` and `tracestate` name it. */
export interface ParentContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** Value of `tracestate`; empty without one. */
  readonly state: string;
}

/** Length of a `traceparent` that `formatParent` returns. */
export const PARENT_LENGTH = "00--00".length + 32 + "-".length + 16;

const parentPattern =
  /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-[\x21-\x7e]*)?$/;
const MAX_PARENT_LENGTH = 256;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);
const SAMPLED = 1;

const MAX_STATE_LENGTH = 512;
const MAX_STATE_MEMBERS = 32;
const stateMember =
  /^(?:[a-z][\w\-*/]{0,255}|[a-z\d][\w\-*/]{0,240}@[a-z][\w\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Reads a `traceparent`; `undefined` when it is invalid, which starts a new trace. An invalid or long `tracestate` is dropped
 * alone. A later version than `00` may have more fields, which are ignored.
 */
export function parseParent(
  traceparent: string,
  tracestate = "",
): ParentContext | undefined {
  if (traceparent.length > MAX_PARENT_LENGTH) return undefined;
  const [, version, traceId, spanId, flags, rest] =
    parentPattern.exec(traceparent) ??
      [];
  if (traceId === undefined || spanId === undefined || flags === undefined) {
    return undefined;
  }
  if (version === "ff" || (version === "00" && rest !== undefined)) {
    return undefined;
  }
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  const state = isState(tracestate) ? tracestate : "";
  return { traceId, spanId, isSampled, state };
}

/** Formats a `traceparent`. */
export function formatParent(
  { traceId, spanId, isSampled }: Omit<ParentContext, "state">,
): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

function isState(text: string): boolean {
  if (text === "" || text.length > MAX_STATE_LENGTH) return false;
  const members = text.split(",").map((member) => member.trim())
    .filter((member) => member !== "");
  const keys = new Set(members.map((member) => member.split("=", 1)[0]));
  return members.length <= MAX_STATE_MEMBERS && keys.size === members.length &&
    members.every((member) => stateMember.test(member));
}

const ID_BYTES = 8;
const random = new Uint8Array(ID_BYTES * 512);
let used = random.length;

/** Returns 16 random hexadecimal digits, not all of them 0: a span ID, or half of a trace ID. */
export function randomId(): string {
  // One call for many IDs costs a tenth of a call for each.
  if (used === random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  const id = random.subarray(used, used += ID_BYTES).toHex();
  return id === NO_SPAN ? randomId() : id;
}

/** Returns a new trace ID. */
export function randomTraceId(): string {
  return randomId() + randomId();
}
