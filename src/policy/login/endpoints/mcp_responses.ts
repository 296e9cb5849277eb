import type { JsonObject } from "../../../base/json.ts";
import { textBody } from "../../../http/body.ts";
import { HeaderList } from "../../../http/header_list.ts";
import type { ResponseMessage } from "../../../http/message.ts";
import { publicHeaders } from "../../../identity/oauth/protocol/oauth_reply.ts";
import {
  type AuthRejection,
  rejectWith,
} from "../../authentication/auth_responses.ts";
import { Rejection } from "../../contract/rejection.ts";
import {
  errorOf,
  type Explanation,
} from "../../../telemetry/failures/explanation.ts";
import type { RecordedRequest } from "../../../telemetry/failures/recorded_request.ts";

/** Optional parts of a rejection. */
export interface PublicRejectionDetails {
  /** For the log only. */
  readonly cause?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Rejects a request to an OAuth endpoint. */
export function rejectPublicly(
  error: AuthRejection,
  description: string,
  { cause, headers }: PublicRejectionDetails = {},
): Rejection<"mcp_oauth"> {
  return new Rejection(
    "mcp_oauth",
    cause === undefined ? description : `${description}: ${cause}`,
    rejectWith(error, description, { ...publicHeaders, ...headers }),
  );
}

/** Responds with a metadata document. */
export function publicJson(document: JsonObject): ResponseMessage {
  return {
    status: 200,
    headers: HeaderList.from([
      ["content-type", "application/json"],
      ["cache-control", "public, max-age=300"],
      // The document contains the address of the request.
      ["vary", "Host, X-Forwarded-Host, X-Forwarded-Proto"],
      ...Object.entries(publicHeaders),
    ]),
    body: textBody(JSON.stringify(document)),
  };
}

/** Responds to a CORS preflight. */
export function publicPreflight(methods: string): ResponseMessage {
  return {
    status: 204,
    headers: HeaderList.from([
      ...Object.entries(publicHeaders),
      ["access-control-allow-methods", methods],
      [
        "access-control-allow-headers",
        "authorization, content-type, mcp-protocol-version",
      ],
      ["access-control-max-age", "3600"],
    ]),
    body: undefined,
  };
}

/** Explains why an OAuth endpoint of an MCP server rejected a request. */
export function explainMcpOAuth(failed: RecordedRequest): Explanation {
  const error = errorOf(failed);
  return failed.finished.status >= 500
    ? {
      cause: `The OAuth endpoint is not available: ${error}.`,
      failing: undefined,
      advice: adviceAbout(error),
    }
    : {
      cause: `An OAuth endpoint of the MCP server rejected it: ${error}.`,
      failing: undefined,
      advice:
        "Correct the client; MCP clients find the endpoints through the challenge of a 401.",
    };
}

function adviceAbout(error: string): string {
  return error.includes("token audience")
    ? "Correct `audiences`, or set `mcp.provider`, so that the gateway requests the first of them as the provider expects."
    : "Check the issuer of the identity provider, and that the gateway can reach it.";
}
