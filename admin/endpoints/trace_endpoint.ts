import type { Clock } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import { escapeControls } from "../../src/base/log_text.ts";
import type { TraceQuery } from "../../src/dataplane/data_plane.ts";
import type { TraceEvent } from "../../src/telemetry/trace/trace_event.ts";
import type { TraceStream } from "../../src/telemetry/trace/trace_watchers.ts";
import {
  type IntegerRange,
  InvalidParameter,
  readInteger,
  requireKnown,
} from "../query_numbers.ts";
import { respond, text } from "../admin_responses.ts";
import type { AdminTarget } from "../target.ts";

const USAGE = `usage:
  GET or POST /debug/trace[?filter=<cel>][&count=<n>][&gateway=<name>][&port=<port>]
traces the next request, or the next n; a filter such as request.path.startsWith("/mcp") chooses`;

const KEEPALIVE_MS = 1000;

/** How many requests `count` traces. */
export const traceCount: IntegerRange = { from: 1, to: 100_000, or: 1 };

/** What `port` may be; every port without it. */
export const tracePort: IntegerRange<undefined> = {
  from: 1,
  to: 65_535,
  or: undefined,
};

/**
 * Shows what happens to the next requests, as server-sent events: one JSON object each, and a comment every second.
 * @throws {InvalidParameter}
 */
export async function traceRequests(
  target: AdminTarget,
  clock: Clock,
  request: Request,
): Promise<Response> {
  const query = readQuery(new URL(request.url).searchParams);
  const answer = await target.dataPlane.traceNext(query);
  if ("stream" in answer) {
    request.signal.addEventListener("abort", () => answer.stream.stop());
    return respond(
      200,
      "text/event-stream",
      eventStream(answer.stream, clock),
    );
  }
  return answer.refusal === "filter"
    ? text(400, `invalid filter: ${escapeControls(answer.message)}\n${USAGE}`)
    : text(503, answer.message, { "retry-after": "1" });
}

function readQuery(query: URLSearchParams): TraceQuery {
  const known = ["filter", "expression", "count", "gateway", "port"];
  requireKnown(query, known, USAGE);
  const twice = known.find((name) => query.getAll(name).length > 1) ??
    (query.has("filter") && query.has("expression") ? "filter" : undefined);
  if (twice !== undefined) {
    throw new InvalidParameter(`Parameter given twice: ${twice}\n${USAGE}`);
  }
  return {
    filter: query.get("filter") ?? query.get("expression") ?? undefined,
    gateway: query.get("gateway") ?? undefined,
    port: readInteger(query, "port", tracePort),
    count: readInteger(query, "count", traceCount),
  };
}

/** Pulled by the client: what it is too slow for waits, and is dropped, where the events come from. */
function eventStream(
  trace: TraceStream,
  clock: Clock,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const events = trace[Symbol.asyncIterator]();
  let next: Promise<IteratorResult<TraceEvent>> | undefined;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(": ready\n\n"));
    },
    async pull(controller) {
      next ??= events.next();
      const result = await unlessLate(next, clock).catch((error) => {
        const text = escapeControls(describeError(error));
        controller.enqueue(encoder.encode(`: invalid filter: ${text}\n\n`));
        return { done: true, value: undefined } as const;
      });
      if (result === undefined) {
        controller.enqueue(encoder.encode(": keepalive\n\n"));
        return;
      }
      next = undefined;
      if (result.done === true) controller.close();
      else {
        const data = `data: ${JSON.stringify(result.value)}\n\n`;
        controller.enqueue(encoder.encode(data));
      }
    },
    cancel: () => trace.stop(),
  });
}

/** What comes; `undefined` when it is time to say that the stream lives. */
async function unlessLate<T>(
  next: Promise<T>,
  clock: Clock,
): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const stopTimer = clock.setTimer(() => late.resolve(undefined), KEEPALIVE_MS);
  return await Promise.race([next, late.promise]).finally(stopTimer);
}
