import type { Clock } from "../src/base/clock.ts";
import { describeError } from "../src/base/errors.ts";
import { escapeControls } from "../src/base/log_text.ts";
import type { TraceQuery } from "../src/dataplane/data_plane.ts";
import type { TraceEvent } from "../src/telemetry/trace_event.ts";
import type { TraceStream } from "../src/telemetry/trace_watchers.ts";
import { respond, text } from "./respond.ts";
import type { AdminTarget } from "./target.ts";

const usage = `usage:
  GET or POST /debug/trace[?filter=<cel>][&count=<n>][&gateway=<name>][&port=<port>]
traces the next request, or the next n; a filter such as request.path.startsWith("/mcp") chooses`;

const keepaliveMs = 1000;
const maxCount = 100_000;

/** Shows what happens to the next requests, as server-sent events: one JSON object each, and a comment every second. */
export async function traceRequests(
  target: AdminTarget,
  clock: Clock,
  request: Request,
): Promise<Response> {
  const query = readQuery(new URL(request.url).searchParams);
  if (typeof query === "string") return text(400, `${query}\n${usage}`);
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
    ? text(400, `invalid filter: ${escapeControls(answer.message)}\n${usage}`)
    : text(503, answer.message, { "retry-after": "1" });
}

/** What is asked for, or what is wrong with it. */
function readQuery(parameters: URLSearchParams): TraceQuery | string {
  const known = ["filter", "expression", "count", "gateway", "port"];
  const unknown = [...parameters.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return `Unknown parameter: ${escapeControls(unknown)}`;
  }
  const twice = known.find((name) => parameters.getAll(name).length > 1) ??
    (parameters.has("filter") && parameters.has("expression")
      ? "filter"
      : undefined);
  if (twice !== undefined) return `Parameter given twice: ${twice}`;
  const count = readInteger(parameters.get("count") ?? "1", maxCount);
  if (count === undefined) {
    return `invalid count: expected 1 to ${maxCount}`;
  }
  const portText = parameters.get("port");
  const port = portText === null ? undefined : readInteger(portText, 65_535);
  if (portText !== null && port === undefined) {
    return "invalid port: expected 1 to 65535";
  }
  return {
    filter: parameters.get("filter") ?? parameters.get("expression") ??
      undefined,
    gateway: parameters.get("gateway") ?? undefined,
    port,
    count,
  };
}

function readInteger(text: string, max: number): number | undefined {
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= max ? value : undefined;
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
  const stopTimer = clock.setTimer(() => late.resolve(undefined), keepaliveMs);
  return await Promise.race([next, late.promise]).finally(stopTimer);
}
