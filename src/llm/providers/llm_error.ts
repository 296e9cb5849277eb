import type { JsonValue } from "../../base/json.ts";
import type { LlmFamily } from "./operation.ts";

/** An error that a client of an LLM API gets. */
export interface LlmErrorFacts {
  readonly status: number;
  readonly message: string;
  /** Such as `llm_key_rejected`; `null` when a provider gave none. */
  readonly code: string | null;
}

/** Creates the body of an error in the form of an API. */
export function writeLlmError(
  family: LlmFamily,
  { status, message, code }: LlmErrorFacts,
): JsonValue {
  switch (family) {
    case "openai":
      return {
        error: { message, type: openAiType(status), param: null, code },
      };
    case "anthropic":
      return {
        type: "error",
        error: { type: anthropicTypes.get(status) ?? "api_error", message },
      };
    case "gemini":
      return {
        error: {
          code: status,
          message,
          status: googleStatuses.get(status) ?? "INTERNAL",
        },
      };
    case "bedrock":
      return { message };
  }
}

function openAiType(status: number): string {
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

const anthropicTypes: ReadonlyMap<number, string> = new Map([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
]);

const googleStatuses: ReadonlyMap<number, string> = new Map([
  [400, "INVALID_ARGUMENT"],
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [429, "RESOURCE_EXHAUSTED"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
]);
