import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { GatewayError } from "../../../base/errors.ts";
import type { RequestMessage, ResponseMessage } from "../../../http/message.ts";
import type { PriceBook } from "../../../llm/cost/price_book.ts";
import type { CountedOutputs } from "../../../llm/batch/counted_outputs.ts";
import { modelOf } from "../../../llm/llm_target.ts";
import type { LlmApi } from "../../../llm/llm_api.ts";
import type {
  ResponseCounts,
  TokenUsage,
} from "../../../llm/usage/token_usage.ts";
import type { UsageListeners } from "../../../policy/contract/request_listeners.ts";
import type { Slots } from "../../../policy/contract/slot.ts";
import type { Backend } from "../../../snapshot/backend.ts";

/** The counts of one request: its meter fills them, everything else reads them. */
export class RequestCounts implements ResponseCounts {
  /** Set once the request is over, or grows with each part of one that stays open. */
  usage: TokenUsage | undefined;
  /** Model of a response whose tokens could not be counted, although a budget needs them. */
  uncounted: { readonly model: string | undefined } | undefined;
  /** Monotonic time of the first output of a stream, in milliseconds; `undefined` for other responses. */
  firstOutputAt: number | undefined;
  /** Pending while a response that the client has, or does not wait for, is still being read. */
  counting: Promise<void> | undefined;
  /** Policy for which the connection was closed: a budget is used up, or the model of the session is another one. */
  closedBy: "rate_limit" | "authorization" | undefined;
}

/** Counts the tokens of one request. */
export interface UsageMeter {
  /** API of the provider, by the path; `undefined` when the shape of the response decides. */
  readonly api: LlmApi | undefined;
  /** True if the usage is counted in parts while the connection is open. */
  readonly countsParts: boolean;
  readonly counts: Readonly<RequestCounts>;
  /** Cancels the upstream call in place of the cancellation of the request: later than that, if the response is to be counted. */
  readonly cancellation: Cancellation | undefined;
  /**
   * Prepares a request whose usage is needed.
   * @param maxBytes Longer bodies are not changed, and count as this many bytes in an estimate.
   * @returns `undefined` when there is nothing to wait for.
   */
  prepare(
    request: RequestMessage,
    maxBytes: number,
  ): Promise<void> | undefined;
  /** Counts the tokens of `response` while it is read. */
  watch(response: ResponseMessage): void;
  /** Charges what a client sent that left before the response: the provider received it. */
  abandon(): void;
}

/** A request that goes upstream, as meters see it. */
export interface MeteredRequest {
  readonly request: RequestMessage;
  /** As the client sent it; policies may rewrite `request`. */
  readonly originalRequest: Readonly<Pick<RequestMessage, "method" | "target">>;
  readonly routed: {
    readonly backend: Backend | undefined;
    /** Set where routes depend on the model. */
    readonly model: unknown;
  };
  readonly slots: Slots | undefined;
  /** Use of attempts whose answers nobody got. */
  readonly discarded?: { readonly usage: TokenUsage | undefined } | undefined;
}

/** Dependencies of a meter. */
export interface MeterOptions {
  readonly prices: Pick<PriceBook, "isLoaded" | "load" | "price">;
  readonly clock: Clock;
  readonly counted: Pick<CountedOutputs, "count" | "claim">;
  /** Host of the backend. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** Host by which the prices are known: that of the provider itself, also where the backend has another. */
  readonly priceHost: string | undefined;
  /** Returns the name of a model at the provider. @param requested The client's name for it. */
  modelAt(requested: string | undefined): string | undefined;
  /** Receives the parts of what a request uses that stays open. */
  onUsed(usage: TokenUsage): void;
}

/** A kind of meter: returns one for requests that it counts, and `uncounted` for those that nobody has to count. */
export type MeterKind = (
  metered: MeteredRequest,
  options: MeterOptions,
  budgets: UsageListeners | undefined,
) => UsageMeter | "uncounted" | undefined;

/** A request was rejected because its tokens cannot be counted. */
export class UnknownUsage extends GatewayError {
  /** @param reason Completes "… because". */
  constructor(reason: string) {
    super(
      "usage_unknown",
      "downstream",
      `The tokens of the request cannot be counted: ${reason}`,
    );
  }
}

/** Returns the host by which the prices of a backend are known: that of the provider itself, also where the backend has another. */
export function priceHostOf({ llm, host }: Backend): string {
  return llm?.provider.host?.(llm.place) ?? host;
}

/** Returns how a backend names the model that a client requests. */
export function modelNamesOf(
  backend: Backend | undefined,
): MeterOptions["modelAt"] {
  const llm = backend?.llm;
  return (requested) => llm === undefined ? requested : modelOf(llm, requested);
}

/** Returns the usage with what it costs. */
export function priceUsage(
  { prices, priceHost: host }: Pick<MeterOptions, "prices" | "priceHost">,
  usage: TokenUsage,
): TokenUsage {
  const served = { model: usage.responseModel, host };
  return { ...usage, host, ...prices.price(served, usage) };
}
