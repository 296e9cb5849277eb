import { systemClock } from "../../../src/base/clock.ts";
import { Failure } from "../../process/exit.ts";
import type { ReceivedEvent } from "./decode_event.ts";

/** Time limit for the first event after the response. */
const GRACE_MS = 1000;

/**
 * Sends the request and yields the events of its trace.
 * @param report Receives messages about the request itself.
 * @throws {Failure} When the request could not be sent or was not traced.
 */
export async function* followInjection(
  events: AsyncIterable<ReceivedEvent>,
  send: () => Promise<string>,
  report: (text: string) => void,
): AsyncGenerator<ReceivedEvent> {
  const late = Promise.withResolvers<never>();
  // Not awaited after the end of the trace.
  late.promise.catch(() => {});
  let hasStarted = false;
  let problem: unknown;
  const sending = send().then(report, (error) => problem = error);
  const stopTimer = sending.then(() =>
    systemClock.setTimer(() => {
      if (!hasStarted) late.reject(problem ?? notTraced);
    }, GRACE_MS)
  );
  const iterator = events[Symbol.asyncIterator]();
  try {
    while (true) {
      const next = await Promise.race([iterator.next(), late.promise]);
      if (next.done === true) break;
      hasStarted = true;
      yield next.value;
    }
    await sending;
    if (problem !== undefined) throw problem;
  } finally {
    void stopTimer.then((stop) => stop());
  }
}

const notTraced = new Failure(
  "The request got a response, but this gateway did not trace it: it was rejected as invalid, or another program uses the port; `gwctl explain` lists rejected requests",
);
