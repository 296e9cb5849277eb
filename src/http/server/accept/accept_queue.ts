import { yieldToEventLoop } from "../../../base/slices.ts";

/** Turns without a connection that show an empty queue: Deno does not look for connections in each of them. */
const QUIET_TURNS = 3;
/** Bounds the wait under a load that never lets the queue run empty. */
const MAX_TURNS = 100;

/**
 * Resolves when the event loop has come around without a new connection.
 *
 * The kernel resets the connections in the queue of a socket that is closed, although their clients count as connected.
 * @param taken Returns how many connections were taken from the queue so far.
 */
export async function untilQueueIsEmpty(taken: () => number): Promise<void> {
  let quiet = 0;
  for (let turn = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn++) {
    const before = taken();
    await yieldToEventLoop();
    quiet = taken() === before ? quiet + 1 : 0;
  }
}
