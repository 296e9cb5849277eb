import type { Cancellation } from "../../base/cancellation.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { PriceBook } from "../../llm/cost/price_book.ts";
import type { Clock } from "../../base/clock.ts";
import type { CountedOutputs } from "../../llm/batch/counted_outputs.ts";
import type { StoredOutput } from "../../llm/batch/stored_output.ts";
import type { LlmApi } from "../../llm/llm_api.ts";
import type { MeteredUsage } from "../../llm/usage/metered_usage.ts";

/** Counts the tokens of one request. */
export interface UsageMeter {
  /** API of the provider, by the path; `undefined` when the shape of the response decides. */
  readonly api: LlmApi | undefined;
  /** Usage of the request once it is over. */
  readonly usage: MeteredUsage | undefined;
  /** True if `usage` is counted in parts while the connection is open. */
  readonly countsParts: boolean;
  /** Model of a response whose tokens could not be counted, although a budget needs them. */
  readonly uncounted: { readonly model: string | undefined } | undefined;
  /** Monotonic time of the first output of a stream, in milliseconds; `undefined` for other responses. */
  readonly firstOutputAt: number | undefined;
  /** Pending while a response that the client has, or does not wait for, is still being read. */
  readonly counting: Promise<void> | undefined;
  /** Cancels the upstream call in place of the cancellation of the request: later than that, if the response is to be counted. */
  readonly cancellation: Cancellation | undefined;
  /** Policy for which the connection was closed: a budget is used up, or the model of the session is another one. */
  readonly closedBy: "rate_limit" | "authorization" | undefined;
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

/** Dependencies of a meter. */
export interface UsageMeterOptions {
  readonly prices: Pick<PriceBook, "isLoaded" | "load" | "price">;
  readonly clock: Clock;
  /** Host of the backend. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** Host by which the prices are known: that of the provider itself, also where the backend has another. */
  readonly priceHost: string | undefined;
  readonly counted: Pick<CountedOutputs, "count" | "claim">;
}

/** Returns the key under which an output is charged: another backend cannot have it charged by naming it. */
export function outputKey(
  { host, port }: Pick<UsageMeterOptions, "host" | "port">,
  { kind, id }: StoredOutput,
): string {
  // A batch and its results are charged once.
  const group = kind === "response" ? "response" : "batch";
  return `${host}:${port} ${group} ${id}`;
}
