import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { describeError } from "../../../src/base/errors.ts";
import {
  type AdminAddress,
  AdminError,
  nameOf,
  streamAdmin,
  unexpectedResponse,
} from "../../client/admin_client.ts";
import { Failure, UsageError } from "../../process/exit.ts";
import { printable } from "../../output/printable.ts";
import { decodeEvent, type ReceivedEvent } from "./decode_event.ts";
import { readLines } from "./lines.ts";

/** Selection of requests to trace. */
export interface TraceQuery {
  /** CEL expression over the arriving request. */
  readonly filter?: string | undefined;
  /** Number of requests; default 1. */
  readonly count?: number | undefined;
  /** Only requests of this gateway. */
  readonly gateway?: string | undefined;
  /** Only requests to this port. */
  readonly port?: number | undefined;
  /** Streams of one group share the requests. */
  readonly group?: string | undefined;
}

/** An active trace; disposing it disconnects. */
export interface TraceStream extends Disposable {
  /** Ends after the requested number of requests; throws `Failure` when the stream ends before. */
  readonly events: AsyncIterable<ReceivedEvent>;
}

/** Time limit between two messages; the gateway sends one per second. */
const SILENCE_MS = 10_000;

/**
 * Starts a trace; resolves when the gateway is ready.
 * @throws {Failure} When the gateway is unreachable or does not support traces.
 * @throws {UsageError} When the filter is invalid.
 */
export async function openTrace(
  address: AdminAddress,
  query: TraceQuery,
  clock: Clock = systemClock,
): Promise<TraceStream> {
  const stream = await streamAdmin(address, pathFor(query)).catch((error) =>
    explain(error, address)
  );
  const lines = readLines(withSilenceTimeout(stream.body, clock))
    [Symbol.asyncIterator]();
  // Any first line shows that the trace has started.
  const first = await lines.next().catch(lost);
  if (first.done === true) return lost("it ended immediately");
  return {
    events: decodeAll(first.value, lines, query.count ?? 1),
    [Symbol.dispose]: () => stream[Symbol.dispose](),
  };
}

function pathFor({ filter, count, gateway, port, group }: TraceQuery): string {
  const given = Object.entries({ filter, count, gateway, port, group });
  const query = new URLSearchParams(
    given.flatMap(([name, value]) =>
      value === undefined ? [] : [[name, `${value}`]]
    ),
  );
  return query.size === 0 ? "/debug/trace" : `/debug/trace?${query}`;
}

function explain(error: unknown, address: AdminAddress): never {
  if (!(error instanceof AdminError)) throw error;
  if (error.status === 400) {
    // The other lines describe the HTTP endpoint.
    const [problem = ""] = error.body.split("\n");
    throw new UsageError(`Cannot trace: ${problem}`);
  }
  if (error.status === 404) {
    throw unexpectedResponse(
      nameOf(address),
      "it has no /debug/trace",
      error.hint,
    );
  }
  throw error;
}

/** Comment before the end of the stream when the filter does not evaluate to a boolean. */
const BAD_FILTER = ": invalid filter: ";

/** Decodes all events; throws when the stream ends before the last request. */
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
  if (finished < count) lost("the gateway closed it prematurely");
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

/** Yields the same bytes; throws after a long silence, as when the machine is down. */
async function* withSilenceTimeout(
  body: ReadableStream<Uint8Array>,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    while (true) {
      const silence = Promise.withResolvers<never>();
      const stopTimer = clock.setTimer(
        () => silence.reject(new Error("no data for 10 s")),
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
