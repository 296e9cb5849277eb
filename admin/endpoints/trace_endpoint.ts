import { type Clock, inTime } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import { escapeControls } from "../../src/base/log/log_text.ts";
import type { TraceQuery } from "../../src/dataplane/calls/debugging.ts";
import type { TraceEvent } from "../../src/telemetry/trace/trace_event.ts";
import type { TraceStream } from "../../src/telemetry/trace/trace_watchers.ts";
import {
  type IntegerRange,
  InvalidParameter,
  readInteger,
  requireKnown,
} from "../http/query_parameters.ts";
import { respond, text } from "../http/admin_responses.ts";
import type { AdminTarget } from "../target/target.ts";

const USAGE = `usage:
  GET or POST /debug/trace[?filter=<cel>][&count=<n>][&gateway=<name>][&port=<port>][&group=<name>]
traces the next request, or the next n, optionally those selected by a filter such as request.path.startsWith("/mcp")`;

const KEEPALIVE_MS = 1000;

/** Range of `count`. */
export const traceCount: IntegerRange = { from: 1, to: 100_000, or: 1 };

/** Range of `port`; default every port. */
export const tracePort: IntegerRange<undefined> = {
  from: 1,
  to: 65_535,
  or: undefined,
};

/**
 * Traces the next requests as server-sent events: JSON objects, and a comment every second.
 * @throws {InvalidParameter}
 */
export async function traceRequests(
  target: AdminTarget,
  clock: Clock,
  request: Request,
): Promise<Response> {
  const query = readQuery(new URL(request.url).searchParams);
  const result = await target.dataPlane.traceNext(query);
  if ("stream" in result) {
    request.signal.addEventListener("abort", () => result.stream.stop());
    return respond(
      200,
      "text/event-stream",
      eventStream(result.stream, clock),
    );
  }
  return result.rejection === "filter"
    ? text(400, `invalid filter: ${escapeControls(result.message)}\n${USAGE}`)
    : text(503, result.message, { "retry-after": "1" });
}

function readQuery(query: URLSearchParams): TraceQuery {
  const known = [
    "filter",
    "expression",
    "count",
    "gateway",
    "port",
    "group",
  ];
  requireKnown(query, known, USAGE);
  const repeated = known.find((name) => query.getAll(name).length > 1) ??
    (query.has("filter") && query.has("expression") ? "filter" : undefined);
  if (repeated !== undefined) {
    throw new InvalidParameter(`Duplicate parameter: ${repeated}\n${USAGE}`);
  }
  return {
    filter: query.get("filter") ?? query.get("expression") ?? undefined,
    gateway: query.get("gateway") ?? undefined,
    port: readInteger(query, "port", tracePort),
    count: readInteger(query, "count", traceCount),
    group: readGroup(query.get("group") ?? undefined),
  };
}

function readGroup(group: string | undefined): string | undefined {
  if (group === undefined || /^[\w-]{1,64}$/.test(group)) return group;
  throw new InvalidParameter(
    `invalid group: expected 1 to 64 letters, digits, - and _\n${USAGE}`,
  );
}

/** Creates a stream that the client pulls; the trace buffers, and drops, events for a slow client. */
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
      const result = await inTime(clock, KEEPALIVE_MS, next).catch((error) => {
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
