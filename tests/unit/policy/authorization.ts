import {
  jwtClaims,
  protectedResource,
} from "../../../src/policy/authentication/request_identity.ts";
import type { Authorization } from "../../../src/policy/authorization/authorization_schema.ts";
import { GatewayError } from "../../../src/base/errors.ts";
import { type Body, textBody } from "../../../src/http/body.ts";
import { createAuthorization } from "../../../src/policy/authorization/authorization_policy.ts";
import { noopServices } from "../../../src/policy/noop_services.ts";
import { context, headersOf, responseOf } from "./exchange.ts";

type Claims = Record<string, unknown>;

/** A policy with those rules. */
export function authorization(
  rules: readonly string[],
  action: Authorization["action"] = "Allow",
  denial: Authorization["denial"] = "Http403",
) {
  const config = { action, denial, policy: { matchExpressions: rules } };
  const services = { ...noopServices(), maxBufferBytes: 1 << 20 };
  return createAuthorization(config, { hide: (text) => text, services });
}

/** `pass`, or status, error code and challenge of the rejection; `bad_request` for a body that servers may read in two ways. */
export async function decide(
  policy: ReturnType<typeof authorization>,
  {
    claims,
    body,
    isMcp = false,
    scopesSupported = [],
    ...request
  }: Parameters<typeof context>[0] & {
    claims?: Claims;
    body?: string | Body;
    isMcp?: boolean;
    scopesSupported?: readonly string[];
  } = {},
) {
  const on = context(request);
  if (claims !== undefined) on.slots.set(jwtClaims, claims);
  if (isMcp) {
    on.slots.set(protectedResource, {
      metadataUrl: () => "https://gw/meta",
      scopesSupported,
    });
  }
  if (body !== undefined) {
    on.request.body = typeof body === "string" ? textBody(body) : body;
  }
  let verdict: ReturnType<typeof responseOf>;
  try {
    verdict = responseOf(await policy.onRequest?.(on));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.code;
  }
  if (verdict === undefined) return "pass";
  const { error } = JSON.parse(
    new TextDecoder().decode(await verdict.body?.read()),
  );
  const challenge = headersOf(verdict)["www-authenticate"];
  return challenge === undefined
    ? `${verdict.status} ${error}`
    : `${verdict.status} ${error} ${challenge}`;
}

/** A rejection that no other scope would change. */
export const refused = "403 forbidden";
