import type { LlmApi } from "../../llm/llm_api.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";

/** The tokens of a request to an LLM provider. */
export interface LlmCall {
  /** The interface of the provider, by the request's path; `undefined` when the shape of the answer decides. */
  readonly api: LlmApi | undefined;
  /**
   * Asks for the usage, before the request goes upstream: `listener` hears of it once, when the answer is over or the client has
   * left. It hears nothing when there was no usage: no LLM answered, or the answer was an error.
   *
   * @param mayAsk Whether the request may be changed so that the provider says its usage; one `false` is enough to leave it alone.
   */
  onUsage(listener: (usage: TokenUsage) => void, mayAsk: boolean): void;
}
