import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { describeError } from "../../../src/base/errors.ts";
import {
  type AdminAddress,
  nameOf,
  Refusal,
  stranger,
  streamAdmin,
} from "../../client/admin_client.ts";
import { Failure, UsageError } from "../../process/exit.ts";
import { printable } from "../../output/printable.ts";
import { decodeEvent, type ReceivedEvent } from "./decode_event.ts";
import { readLines } from "./lines.ts";

/** Which requests to trace. */
export interface TraceQuery {
  /** CEL over the request as it arrives. */
  readonly filter?: string;
  /** How many requests; 1 when left out. */
  readonly count?: number;
  /** Only those of this gateway. */
  readonly gateway?: string;
  /** Only those that arrive at this port. */
  readonly port?: number;
}

/** The trace of a running gateway, ready for requests; disposing it hangs up. */
export interface TraceStream extends Disposable {
  /** Ends when all requests that were asked for are over; throws `Failure` when the stream is lost before. */
  readonly events: AsyncIterable<ReceivedEvent>;
}

/** The gateway sends something each second. */
const SILENCE_MS = 10_000;

/**
 * Asks a gateway for a trace; resolves once it said that it is ready.
 * @throws {Failure} When it cannot be reached or has no traces.
 * @throws {UsageError} When it refuses the filter.
 */
export async function openTrace(
  address: AdminAddress,
  query: TraceQuery,
  clock: Clock = systemClock,
): Promise<TraceStream> {
  const stream = await streamAdmin(address, pathFor(query)).catch((error) =>
    explain(error, address)
  );
  const lines = readLines(whileHeard(stream.body, clock))
    [Symbol.asyncIterator]();
  // The first line, whatever it says, shows that the gateway watches.
  const first = await lines.next().catch(lost);
  if (first.done === true) return lost("it ended at once");
  return {
    events: decodeAll(first.value, lines, query.count ?? 1),
    [Symbol.dispose]: () => stream[Symbol.dispose](),
  };
}

function pathFor({ filter, count, gateway, port }: TraceQuery): string {
  const query = new URLSearchParams();
  if (filter !== undefined) query.set("filter", filter);
  if (count !== undefined) query.set("count", String(count));
  if (gateway !== undefined) query.set("gateway", gateway);
  if (port !== undefined) query.set("port", String(port));
  return query.size === 0 ? "/debug/trace" : `/debug/trace?${query}`;
}

function explain(error: unknown, address: AdminAddress): never {
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 400) {
    // The rest is about the address, for those who ask without this program.
    const [problem = ""] = error.body.split("\n");
    throw new UsageError(`Cannot trace: ${problem}`);
  }
  if (error.status === 404) {
    throw stranger(nameOf(address), "it has no /debug/trace");
  }
  throw error;
}

/** How the gateway says that the filter gave something else than a boolean for a request; then the stream ends. */
const BAD_FILTER = ": invalid filter: ";

/** A stream that ends before the last request did was cut. */
async function* decodeAll(
  first: string,
  rest: AsyncIterable<string>,
  count: number,
): AsyncGenerator<ReceivedEvent> {
  let finished = 0;
  try {
    for await (const line of concat(first, rest)) {
      if (line.startsWith(BAD_FILTER)) {
        throw new UsageError(`Cannot trace: ${printable(line.slice(2))}`);
      }
      const event = decode(line);
      if (event === undefined) continue;
      if (event.type === "requestFinished") finished++;
      yield event;
    }
  } catch (error) {
    lost(error);
  }
  if (finished < count) lost("the gateway closed it before the end");
}

async function* concat(
  first: string,
  rest: AsyncIterable<string>,
): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

function decode(line: string): ReceivedEvent | undefined {
  try {
    return decodeEvent(line);
  } catch (error) {
    throw new Failure(
      `Cannot read an event of the gateway: ${describeError(error)}`,
    );
  }
}

function lost(reason: unknown): never {
  if (reason instanceof Failure || reason instanceof UsageError) throw reason;
  throw new Failure(`Lost the trace: ${describeError(reason)}`);
}

/** The same bytes; throws after a long silence, which is how a machine that vanished sounds. */
async function* whileHeard(
  body: ReadableStream<Uint8Array>,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    while (true) {
      const silence = Promise.withResolvers<never>();
      const stopTimer = clock.setTimer(
        () => silence.reject(new Error("nothing was heard for 10 s")),
        SILENCE_MS,
      );
      const read = Promise.race([reader.read(), silence.promise]);
      const { done, value } = await read.finally(stopTimer);
      if (done) return;
      yield value;
    }
  } finally {
    // The connection may be gone already.
    await reader.cancel().catch(() => {});
  }
}
