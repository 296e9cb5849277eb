import type { Clock } from "../../base/clock.ts";
import type { Body } from "../../http/body.ts";
import { MessageDeadline } from "../streams/message_deadline.ts";

const LIMIT_MS = 1000;
const MAX_BYTES = 64 * 1024;

/** Reads the rest of a body of which nothing is needed any more, so that its connection can be used again; gives up soon. */
export function drain(body: Body, clock: Clock): void {
  for (let left = MAX_BYTES; left > 0;) {
    const next = body.read();
    if (next instanceof Promise) return void drainLater(body, next, clock);
    if (next === undefined) return;
    left -= next.length;
  }
  body.cancel("left");
}

async function drainLater(
  body: Body,
  first: Promise<Uint8Array | undefined>,
  clock: Clock,
): Promise<void> {
  const limit = new MessageDeadline(clock, () => body.cancel("left"));
  limit.begin(LIMIT_MS);
  try {
    let next = await first;
    for (let left = MAX_BYTES; next !== undefined && left > 0;) {
      left -= next.length;
      next = await body.read();
    }
    if (next !== undefined) body.cancel("left");
  } catch {
    // The connection is gone, and so is the reason to read on.
  } finally {
    limit.lift();
  }
}
