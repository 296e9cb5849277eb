import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { Failure } from "../../process/exit.ts";
import type { ReceivedEvent } from "./decode_event.ts";

/** How long the first event may take once the request is over. */
const GRACE_MS = 1000;

/**
 * Sends the request and gives the events of its trace.
 * @param say Receives what there is to say about the request itself.
 * @throws {Failure} When the request was not sent, or was not traced: it went to somebody else.
 */
export async function* followInjection(
  events: AsyncIterable<ReceivedEvent>,
  send: () => Promise<string>,
  say: (text: string) => void,
  clock: Clock = systemClock,
): AsyncGenerator<ReceivedEvent> {
  const late = Promise.withResolvers<never>();
  // Nobody waits for it any more once the trace is over.
  late.promise.catch(() => {});
  let hasStarted = false;
  let problem: unknown;
  const sending = send().then(say, (error) => problem = error);
  const stopTimer = sending.then(() =>
    clock.setTimer(() => {
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
  "The request was answered, but this gateway did not trace it: was it refused before it was a request, or is another program at the port? `gwctl explain` lists what was refused",
);
