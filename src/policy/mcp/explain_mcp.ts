import {
  errorOf,
  type Explanation,
} from "../../telemetry/failures/explanation.ts";
import type { RecordedRequest } from "../../telemetry/failures/recorded_request.ts";

/** Explains why an OAuth endpoint of an MCP server rejected a request. */
export function explainMcpOAuth(failed: RecordedRequest): Explanation {
  return failed.finished.status >= 500
    ? {
      cause: `The OAuth endpoint is not available: ${errorOf(failed)}.`,
      failing: undefined,
      advice:
        "Check the issuer of the identity provider, and that the gateway can reach it.",
    }
    : {
      cause:
        `It asks for nothing that an OAuth endpoint of the MCP server can answer: ${
          errorOf(failed)
        }.`,
      failing: undefined,
      advice:
        "Correct the client; MCP clients find the endpoints through the challenge of a 401.",
    };
}
