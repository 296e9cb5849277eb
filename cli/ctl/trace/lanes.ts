import type { AdminAddress } from "../../client/admin_client.ts";
import type { ReceivedEvent } from "./decode_event.ts";
import { openTrace, type TraceQuery } from "./stream.ts";

/** Starts a trace at each address; `streams` owns them. */
export async function openLanes(
  addresses: readonly AdminAddress[],
  query: TraceQuery,
  streams: DisposableStack,
): Promise<readonly AsyncIterable<ReceivedEvent>[]> {
  return await Promise.all(addresses.map(async (address) => {
    const { events } = streams.use(await openTrace(address, query));
    return events;
  }));
}

/** Merges streams that run at the same time; each is a lane of its own. Ends when all have ended, and throws the first error. */
export async function* mergeLanes(
  streams: readonly AsyncIterable<ReceivedEvent>[],
): AsyncGenerator<ReceivedEvent> {
  const [only, second] = streams;
  if (only !== undefined && second === undefined) return yield* only;
  const iterators = streams.map((stream) => stream[Symbol.asyncIterator]());
  const next = (lane: number) =>
    iterators[lane]?.next().then((result) => ({ lane, result }));
  const waiting = new Map(iterators.map((_, lane) => [lane, next(lane)]));
  while (waiting.size > 0) {
    const first = await Promise.race(waiting.values());
    if (first === undefined) return;
    const { lane, result } = first;
    if (result.done === true) {
      waiting.delete(lane);
      continue;
    }
    waiting.set(lane, next(lane));
    yield { ...result.value, lane };
  }
}

/** Yields the events of one request after the other: with several lanes, once the request has ended. */
export async function* inTurn(
  events: AsyncIterable<ReceivedEvent>,
): AsyncGenerator<ReceivedEvent> {
  const unfinished = new Map<number, ReceivedEvent[]>();
  for await (const event of events) {
    const { lane, type } = event;
    if (lane === undefined) {
      yield event;
      continue;
    }
    const request = unfinished.get(lane);
    if (request === undefined) unfinished.set(lane, [event]);
    else request.push(event);
    if (type !== "requestFinished") continue;
    yield* unfinished.get(lane) ?? [];
    unfinished.delete(lane);
  }
  for (const request of unfinished.values()) yield* request;
}
