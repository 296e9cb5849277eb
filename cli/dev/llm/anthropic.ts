import { type Dialect, LlmError } from "./dialect.ts";

/** Error format of Anthropic. */
export const anthropic: Dialect = {
  requestIdHeader: "request-id",
  invalidJson: () => new LlmError(400, "The request body is not valid JSON"),
  missingField: (field) => new LlmError(400, `${field}: Field required`),
  wrongType: (field, expected) =>
    new LlmError(400, `${field}: Input should be ${expected}`),
  errorBody: ({ status, message }, requestId) => ({
    type: "error",
    error: { type: errorTypes.get(status) ?? defaultType(status), message },
    request_id: requestId,
  }),
};

const errorTypes: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [529, "overloaded_error"],
]);

function defaultType(status: number): string {
  return status >= 500 ? "api_error" : "invalid_request_error";
}
