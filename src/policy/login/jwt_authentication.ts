import { checkKeyBackends } from "./jwt_keys.ts";
import { wellKnownMetadata } from "./endpoints/mcp_endpoint.ts";
import { explainMcpOAuth } from "./endpoints/mcp_responses.ts";
import { definePolicy } from "../contract/define_policy.ts";
import { explainAuthentication } from "../authentication/auth_responses.ts";
import { checkJwtAuthentication, checkSecretRefs } from "./jwt_checks.ts";
import { createJwtAuthentication } from "./jwt_policy.ts";
import { jwtAuthenticationSchema } from "./schema/jwt_schema.ts";
import { jwtClaims } from "../authentication/request_identity.ts";

/** Authenticates clients by a token, and serves the OAuth endpoints of an MCP server. */
export const jwtAuthentication = definePolicy("jwtAuthentication", {
  description: "Authenticates clients by a JSON Web Token (JWT).",
  schema: jwtAuthenticationSchema,
  phases: ["route", "gateway"],
  merge: "replace",
  access: {
    identity: jwtClaims,
    alternative: "jwt_auth",
    isRequired: ({ mode }) => mode === "Strict" || mode === "AnyOf",
    credentials: ({ location }) => [
      { header: { name: "dpop" } },
      ...location === undefined ? [] : [location],
    ],
  },
  trace: { event: "jwt", stage: "jwt auth", selection: "jwt" },
  rejections: {
    jwt_auth: {
      explain: explainAuthentication({
        credential: "authorization",
        advice:
          "Send a valid token as `Authorization: Bearer <token>`; compare its `iss`, `aud` and `exp` with `jwtAuthentication`.",
        unavailable:
          'The gateway could not fetch the keys of the identity provider; see "keySets" in /config_dump and the host in "jwks".',
      }),
    },
    jwt_unknown_key: {
      explain: explainAuthentication({
        credential: "authorization",
        advice: "Repeat the request.",
        unavailable:
          "The token names a key that the provider did not have a few seconds ago; the gateway fetches its keys again after ten seconds. Many such requests are forged tokens.",
      }),
    },
    mcp_oauth: { event: "mcp", explain: explainMcpOAuth },
  },
  wellKnown: ({ mcp }) => mcp && wellKnownMetadata,
  checkReferences: (config, references) => [
    ...checkKeyBackends(config, references),
    ...checkSecretRefs(config, references),
  ],
}, {
  check: (config, { readFile }) => checkJwtAuthentication(config, readFile),
  create: createJwtAuthentication,
});
