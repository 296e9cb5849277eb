import type { Clock } from "../../base/clock.ts";
import type { EndedRequest } from "../../policy/expressions/telemetry_expressions.ts";
import type { PolicyContext } from "../../policy/contract/policy.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type { Attributes, SpanSink } from "../../telemetry/spans/span.ts";
import type { Exchange } from "./exchange.ts";
import { describeSpans } from "./describe_spans.ts";
import { type LlmOperation, readLlmFacts } from "./gen_ai_attributes.ts";
import { type Decide, RequestSpan } from "../trace/spans/request_span.ts";
import { mayBeRpc, readRpcMessage } from "../trace/spans/rpc_message.ts";

/** Decides which requests are sampled. */
export interface Sampler {
  /** Decides for a request that starts a trace. */
  startsTrace(context: () => PolicyContext): boolean;
  /** Decides for a request whose client samples it. */
  continuesTrace(context: () => PolicyContext): boolean;
}

/** Dependencies of spans. */
export interface RequestSpansOptions {
  readonly clock: Clock;
  readonly sampler: Sampler;
  readonly sink: SpanSink;
  /** Returns the attributes of the configuration. */
  readonly attributesOf: (ended: EndedRequest) => Attributes;
}

/** Makes the spans of requests, for a collector. */
export class RequestSpans {
  readonly #options: RequestSpansOptions;

  constructor(options: RequestSpansOptions) {
    this.#options = options;
  }

  /** Begins the span of a request that has just arrived; every request takes part in a trace, sampled or not. */
  begin(exchange: Exchange): RequestSpan {
    const { clock, sampler } = this.#options;
    const context = () => exchange.context;
    const decide: Decide = (parent) =>
      parent === undefined
        ? sampler.startsTrace(context)
        : parent.isSampled && sampler.continuesTrace(context);
    return new RequestSpan(exchange.request.headers, clock, decide);
  }

  /** Reads what spans show of the body of a request that goes upstream, and the trace that a message of MCP names. */
  async readBody({ request, span }: Exchange): Promise<void> {
    if (span === undefined || request.body === undefined) return;
    const mayBeChild = span.isSampled || span.parent === undefined;
    if (span.rpc === undefined && mayBeChild && mayBeRpc(request)) {
      span.rpc = await readRpcMessage(request);
      const parent = span.rpc?.parent;
      if (parent !== undefined) span.continueTrace(parent);
    }
    if (!span.isSampled || span.rpc !== undefined) return;
    span.llm ??= await readLlmFacts(request);
  }

  /** Exports the spans of a request that is over. */
  finished(finished: FinishedRequest, exchange: Exchange): void {
    const { span } = exchange;
    if (span === undefined || !span.isSampled) return;
    const { sink, attributesOf } = this.#options;
    const operation = operationOf(finished, exchange);
    const added = attributesOf(exchange);
    const traced = { exchange, span, finished, operation, added };
    for (const each of describeSpans(traced)) sink(each);
  }
}

function operationOf(
  { usage, firstTokenMs }: FinishedRequest,
  { meter, span, routed }: Exchange,
): LlmOperation | undefined {
  const api = meter?.api;
  if (api === undefined) return undefined;
  const target = routed.backend?.llm;
  return { api, facts: span?.llm, target, usage, firstTokenMs };
}
