import type { LlmProviderName } from "../api/resources/llm_backend.ts";
import type {
  Authorization,
  LlmProvider,
  ProviderPlace,
} from "./providers/llm_provider.ts";
import type { BodyChanges } from "./body_changes.ts";
import type { TargetName } from "./translation/targets/target_apis.ts";
import type { Unsupported } from "./translation/conversation/losses.ts";

/** A provider as a backend has it: everything that its requests need, compiled. */
export interface LlmTarget {
  readonly name: LlmProviderName;
  readonly provider: LlmProvider;
  readonly place: ProviderPlace;
  readonly scheme: "http" | "https";
  /** `Host` of requests. */
  readonly authority: string;
  /** Holds the key in a closure, so that nothing that shows a target can show the key. */
  readonly authorization: Authorization | undefined;
  /** Model for all requests. */
  readonly model: string | undefined;
  readonly aliases: ReadonlyMap<string, string>;
  readonly changes: BodyChanges;
  /** Treatment of settings that the provider's API does not have, and that only advise it. */
  readonly unsupported: Unsupported;
  /** Requests are translated to OpenAI's responses in place of its chat completions. */
  readonly speaksResponses: boolean;
  /** Prompts without marks for a cache get some. */
  readonly marksCaches: boolean;
}

/** Returns the API that requests for a model are translated to. */
export function targetApiOf(
  { provider, speaksResponses }: LlmTarget,
  model: string | undefined,
): TargetName {
  const family = provider.translatesTo(model);
  return family === "openai" && speaksResponses ? "responses" : family;
}

/** Returns the model that a provider gets for the one that a client requests. */
export function modelOf(
  { model, aliases }: Pick<LlmTarget, "model" | "aliases">,
  requested: string | undefined,
): string | undefined {
  if (model !== undefined) return model;
  return requested === undefined
    ? undefined
    : aliases.get(requested) ?? requested;
}
