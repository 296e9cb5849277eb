import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError, GatewayError } from "../../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../base/json.ts";
import { type Body, textBody } from "../../../http/body.ts";
import { HeaderList } from "../../../http/header_list.ts";
import type { ResponseMessage } from "../../../http/message.ts";
import { readText } from "../../../identity/documents/document_client.ts";
import { publicHeaders } from "../../../identity/oauth/protocol/oauth_reply.ts";
import { rejectPublicly } from "./mcp_responses.ts";
import type { PolicyOutcome } from "../../contract/policy.ts";
import { type PolicyTrace, waitFor } from "../../contract/policy_trace.ts";
import type { ProviderRegistration } from "./registration_turns.ts";
import { Rejection } from "../../contract/rejection.ts";

const MAX_REQUEST_BYTES = 64 * 1024;

/** Dependencies of client registration. */
export interface Registration {
  /** ID of a client registered at the provider, which every client gets. */
  readonly clientId: string | undefined;
  readonly clock: Clock;
  /** Registration at the provider; `undefined` when the provider has none. */
  readonly provider: ProviderRegistration | undefined;
  /** Cancels with the request. */
  readonly cancellation: Cancellation;
  readonly trace: PolicyTrace | undefined;
}

/** Handles a client registration (RFC 7591). */
export async function registerClient(
  body: Body | undefined,
  { clientId, clock, provider, cancellation, trace }: Registration,
): Promise<PolicyOutcome<"mcp_oauth">> {
  const metadata = await readMetadata(body);
  if (metadata instanceof Rejection) return metadata;
  if (!hasRedirectUris(metadata)) {
    return reject("redirect_uris: expected a list of strings");
  }
  if (clientId !== undefined) {
    const now = Math.floor(clock.now() / 1000);
    return answer(201, JSON.stringify(asClient(metadata, clientId, now)));
  }
  if (provider === undefined) {
    return rejectPublicly("not_found", "clients do not register here");
  }
  return await registerAtProvider(
    JSON.stringify(metadata),
    provider,
    { cancellation, trace },
  );
}

async function registerAtProvider(
  metadata: string,
  provider: ProviderRegistration,
  { cancellation, trace }: Pick<Registration, "cancellation" | "trace">,
): Promise<PolicyOutcome<"mcp_oauth">> {
  try {
    const response = await waitFor(
      trace,
      "registration at the identity provider",
      provider.forward(metadata, cancellation),
    );
    if (response === undefined) {
      return rejectPublicly(
        "temporarily_unavailable",
        "too many clients are registering",
        { headers: { "retry-after": "1" } },
      );
    }
    const { status, text } = response;
    const isObject = isJsonObject(parseJson(text));
    if (isObject && status >= 200 && status < 300) return answer(status, text);
    if (status >= 400) return answer(status, isObject ? text : accessDenied);
    throw new Error(
      `Cannot use the response: expected a JSON object, got status ${status}`,
    );
  } catch (error) {
    return rejectPublicly(
      "bad_gateway",
      "the identity provider cannot be reached",
      { cause: describeError(error) },
    );
  }
}

/** Replaces rejections that clients cannot parse, such as HTML pages. */
const accessDenied = JSON.stringify({
  error: "access_denied",
  error_description: "the identity provider rejected the registration",
});

async function readMetadata(
  body: Body | undefined,
): Promise<JsonObject | Rejection<"mcp_oauth">> {
  try {
    const text = await readText(body, MAX_REQUEST_BYTES);
    const metadata = parseJson(text);
    return isJsonObject(metadata) ? metadata : reject("expected a JSON object");
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    return reject(describeError(error));
  }
}

function hasRedirectUris({ redirect_uris: uris = [] }: JsonObject): boolean {
  return Array.isArray(uris) && uris.every((uri) => typeof uri === "string");
}

/** Returns the client's own metadata with its registration. Public clients have no secret. */
function asClient(
  metadata: JsonObject,
  clientId: string,
  issuedAt: number,
): JsonObject {
  const {
    client_secret: _secret,
    client_secret_expires_at: _expiry,
    registration_access_token: _token,
    ...echo
  } = metadata;
  return {
    redirect_uris: [],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    ...echo,
    client_id: clientId,
    client_id_issued_at: issuedAt,
    token_endpoint_auth_method: "none",
  };
}

function reject(description: string): Rejection<"mcp_oauth"> {
  return rejectPublicly("invalid_client_metadata", description);
}

function answer(status: number, text: string): ResponseMessage {
  return {
    status,
    headers: HeaderList.from([
      ["content-type", "application/json"],
      ["cache-control", "no-store"],
      ...Object.entries(publicHeaders),
    ]),
    body: textBody(text),
  };
}
