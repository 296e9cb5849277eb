import type { Clock } from "../base/clock.ts";
import { describeError, GatewayError } from "../base/errors.ts";
import { type Body, textBody } from "../http/body.ts";
import { HeaderList } from "../http/header_list.ts";
import type { ResponseMessage } from "../http/message.ts";
import { type FetchedDocument, readText } from "../identity/document_client.ts";
import { isJsonObject, type JsonObject } from "../identity/json.ts";
import { publicHeaders, refusePublicly } from "./mcp_responses.ts";
import type { PolicyAnswer } from "./policy.ts";
import type { Refusal } from "./refusal.ts";

const maxRequestBytes = 64 * 1024;

/** How clients are registered. */
export interface Registration {
  /** Of a client that is registered at the provider already: every client becomes that one. */
  readonly clientId: string | undefined;
  readonly clock: Clock;
  /** Asks the provider to register the client; `undefined` when there is no such endpoint. */
  readonly forward: ((body: string) => Promise<FetchedDocument>) | undefined;
}

/** Answers a registration of RFC 7591. */
export async function registerClient(
  body: Body | undefined,
  { clientId, clock, forward }: Registration,
): Promise<PolicyAnswer> {
  let metadata: unknown;
  try {
    metadata = JSON.parse(await readText(body, maxRequestBytes));
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    return refuse(describeError(error));
  }
  if (!isJsonObject(metadata)) return refuse("expected a JSON object");
  if (!hasRedirectUris(metadata)) {
    return refuse("redirect_uris: expected a list of text");
  }
  if (clientId !== undefined) {
    const now = Math.floor(clock.now() / 1000);
    return answer(201, JSON.stringify(asClient(metadata, clientId, now)));
  }
  if (forward === undefined) {
    return refusePublicly("not_found", "clients do not register here");
  }
  try {
    const { status, text } = await forward(JSON.stringify(metadata));
    return answer(status, text);
  } catch (error) {
    return refusePublicly(
      "bad_gateway",
      "the identity provider cannot be reached",
      { cause: describeError(error) },
    );
  }
}

function hasRedirectUris({ redirect_uris: uris = [] }: JsonObject): boolean {
  return Array.isArray(uris) && uris.every((uri) => typeof uri === "string");
}

/** What the client said of itself, and what it is now. Public clients have no secret. */
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

function refuse(description: string): Refusal {
  return refusePublicly("invalid_client_metadata", description);
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
