import { type Dialect, LlmError } from "./dialect.ts";

/** Error format of OpenAI. */
export const openAi: Dialect = {
  requestIdHeader: "x-request-id",
  invalidJson: () =>
    new LlmError(400, "We could not parse the JSON body of your request."),
  missingField: (field) =>
    new LlmError(400, `Missing required parameter: '${field}'.`, {
      field,
      code: "missing_required_parameter",
    }),
  wrongType: (field, expected) =>
    new LlmError(400, `Invalid type for '${field}': expected ${expected}.`, {
      field,
      code: "invalid_type",
    }),
  errorBody: ({ status, message, details }) => ({
    error: {
      message,
      type: errorType(status),
      param: details.field ?? null,
      code: details.code ?? null,
    },
  }),
};

function errorType(status: number): string {
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** Returns the tokens that OpenAI would read from its cache: blocks of 128, for prompts of 1024 and more. */
export function countCachedTokens(promptTokens: number): number {
  return promptTokens < 1024 ? 0 : promptTokens - promptTokens % 128;
}
