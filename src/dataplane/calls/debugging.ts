import { describeError } from "../../base/errors.ts";
import { createSensitiveHeaders } from "../../base/redaction.ts";
import type { RequestFilter } from "../../policy/http/request_filter.ts";
import { Tracing } from "../../proxy/exchange/tracing.ts";
import type {
  TraceStream,
  TraceTurns,
} from "../../telemetry/trace/trace_watchers.ts";
import { RequestMemory, type RequestMemoryOptions } from "./request_memory.ts";

/** Selects the requests to trace. */
export interface TraceQuery {
  /** CEL over the request as it arrives. */
  readonly filter?: string | undefined;
  /** Only requests to this gateway. */
  readonly gateway?: string | undefined;
  /** Only requests to this port, as configured. */
  readonly port?: number | undefined;
  /** Number of requests, one after the other; default 1. */
  readonly count?: number;
  /** Streams of one group share the requests: each request goes to one of them. */
  readonly group?: string | undefined;
}

/** The traces, or why there are none: the filter is invalid, or there are too many watchers. */
export type TraceAnswer = { readonly stream: TraceStream } | {
  readonly rejection: "filter" | "watchers";
  readonly message: string;
};

/** Explains requests: traces for watchers, and a memory of recent ones. */
export class Debugging {
  readonly tracing: Tracing;
  readonly memory: RequestMemory;

  constructor(options: RequestMemoryOptions) {
    const { settings: { sensitiveHeaders }, clock } = options;
    this.tracing = new Tracing({
      clock,
      sensitiveHeaders: createSensitiveHeaders(sensitiveHeaders),
    });
    this.memory = new RequestMemory(
      options,
      (snapshot) => this.tracing.createRedactor(snapshot),
    );
  }

  async traceNext(
    { filter, gateway, port, count = 1, group }: TraceQuery,
    turns?: TraceTurns,
  ): Promise<TraceAnswer> {
    let compiled: RequestFilter | undefined;
    try {
      compiled = filter === undefined ? undefined : await compileFilter(filter);
    } catch (error) {
      return { rejection: "filter", message: describeError(error) };
    }
    const wanted = { filter: compiled, gateway, port, count, group, turns };
    const stream = this.tracing.watch(wanted);
    return stream === undefined ? tooManyWatchers : { stream };
  }
}

/** Answers a trace query when all watchers are in use. */
export const tooManyWatchers = {
  rejection: "watchers",
  message: "too many watchers",
} satisfies TraceAnswer;

/** Compiles a filter; loads the expression library on first use. */
export async function compileFilter(text: string): Promise<RequestFilter> {
  const { compileRequestFilter } = await import(
    "../../policy/http/request_filter.ts"
  );
  return compileRequestFilter(text);
}
