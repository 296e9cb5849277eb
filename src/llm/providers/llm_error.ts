import type { JsonValue } from "../../base/json.ts";
import type { LlmFamily } from "./operation.ts";

/** An error that a client of an LLM API gets. */
export interface LlmErrorFacts {
  readonly status: number;
  readonly message: string;
  /** Such as `llm_key_rejected`; `null` when a provider gave none. */
  readonly code: string | null;
  readonly requestId?: string;
}

/** Creates the body of an error in the form of an API. */
export function writeLlmError(
  family: LlmFamily,
  { status, message, code, requestId }: LlmErrorFacts,
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
        ...(requestId && { request_id: requestId }),
      };
    case "gemini":
      return {
        error: {
          code: status,
          message,
          status: googleStatuses.get(status) ?? "INTERNAL",
          ...(code !== null && { details: [errorInfo(code, requestId)] }),
        },
      };
    case "bedrock":
      return { message };
  }
}

/** Details of an error of Google (google.rpc.ErrorInfo). */
function errorInfo(reason: string, requestId = ""): JsonValue {
  return {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: reason.toUpperCase(),
    domain: "gateway",
    metadata: { requestId },
  };
}

/** Returns the header fields in which SDKs look for facts of an error. */
export function errorHeaders(
  family: LlmFamily,
  status: number,
  requestId: string,
): readonly (readonly [string, string])[] {
  if (family === "anthropic") return [["request-id", requestId]];
  if (family !== "bedrock") return [];
  const type = awsErrors.get(status) ?? "InternalServerException";
  return [["x-amzn-errortype", type], ["x-amzn-requestid", requestId]];
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

const awsErrors: ReadonlyMap<number, string> = new Map([
  [400, "ValidationException"],
  [401, "AccessDeniedException"],
  [403, "AccessDeniedException"],
  [404, "ResourceNotFoundException"],
  [408, "ModelTimeoutException"],
  [413, "ValidationException"],
  [429, "ThrottlingException"],
  [503, "ServiceUnavailableException"],
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
