import { jwtClaims } from "../../../../src/policy/authentication/request_identity.ts";
import assert from "node:assert/strict";
import { createApiKeyAuthentication } from "../../../../src/policy/keys/api_key_authentication.ts";
import { createBasicAuthentication } from "../../../../src/policy/authentication/basic_policy.ts";
import { createJwtAuthentication } from "../../../../src/policy/login/jwt_policy.ts";
import type { Policy } from "../../../../src/policy/contract/policy.ts";
import { noopServices } from "../../../../src/policy/noop_services.ts";
import { createTokenIssuer, jwksOf } from "../../../harness/login/tokens.ts";
import { authorization } from "../authorization.ts";
import { context, rejectionOf } from "../exchange.ts";

const issuer = await createTokenIssuer();

/** @param inline Without it, the keys are at a backend that does not exist. */
function jwtAuthentication(inline: string | undefined): Policy {
  const remote = {
    backendRef: { name: "gone", kind: "GatewayBackend", group: "", port: 443 },
    jwksPath: "/keys",
  } as const;
  return createJwtAuthentication(
    {
      mode: "Strict",
      clockSkew: "60s",
      providers: [{
        issuer: issuer.issuer,
        audiences: ["https://gw.example/mcp"],
        jwks: inline === undefined ? { remote } : { inline },
      }],
      mcp: { provider: "IdpA", forwardToken: false },
    },
    {
      owner: "default/policy",
      listenerPort: 80,
      readFile: () => "",
      hide: (text) => text,
      services: noopServices(),
      connectionOf: () => undefined,
      readSecret: () => "",
    },
  );
}

const jwt = jwtAuthentication(jwksOf(issuer));
const withoutKeys = jwtAuthentication(undefined);
const apiKey = createApiKeyAuthentication({
  mode: "Strict",
  keys: [{ key: "known" }],
});
const basic = createBasicAuthentication({
  mode: "Strict",
  users: ["anna:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="],
}, () => "");
function rules(action: "Allow" | "Deny", ...texts: string[]): Policy {
  return authorization(texts, action);
}

async function bearer(claims = {}): Promise<string> {
  return `Bearer ${await issuer.sign(claims)}`;
}

const cases: {
  readonly name: string;
  readonly policy: Policy;
  readonly authorization?: string;
  readonly target?: string;
  readonly reason: string;
  readonly error: string | RegExp;
}[] = [
  {
    name: "no token",
    policy: jwt,
    reason: "jwt_auth",
    error: "a bearer token is required",
  },
  {
    name: "a token for another audience",
    policy: jwt,
    authorization: await bearer({ aud: "https://other.example" }),
    reason: "jwt_auth",
    error:
      'token audience is not accepted: has "https://other.example", expected "https://gw.example/mcp"',
  },
  {
    name: "a token of another issuer",
    policy: jwt,
    authorization: await bearer({ iss: "https://other.example" }),
    reason: "jwt_auth",
    error:
      'token issuer is not accepted: has unverified issuer "https://other.example", expected "https://idp.example/"',
  },
  {
    name: "keys that cannot be had",
    policy: withoutKeys,
    authorization: await bearer(),
    reason: "jwt_auth",
    error:
      "the keys of the identity provider are not available: Cannot call key backend",
  },
  {
    name: "an OAuth endpoint that is none",
    policy: jwt,
    target: "/mcp/.well-known/oauth-protected-resource",
    reason: "mcp_oauth",
    error: "nothing is served here",
  },
  {
    name: "no API key",
    policy: apiKey,
    reason: "api_key_auth",
    error: "API key required",
  },
  {
    name: "an unknown API key",
    policy: apiKey,
    authorization: "Bearer secret",
    reason: "api_key_auth",
    error: "the API key is not known",
  },
  {
    name: "no password",
    policy: basic,
    reason: "basic_auth",
    error: "user name and password required",
  },
  {
    name: "a wrong password",
    policy: basic,
    authorization: "Basic YW5uYTp3cm9uZw==",
    reason: "basic_auth",
    error: "user name or password is wrong",
  },
];
for (const { name, policy, authorization, target, reason, error } of cases) {
  Deno.test(`the log reports why ${name} is rejected`, async () => {
    const on = context({
      ...(target !== undefined && { target }),
      headers: authorization === undefined ? {} : { authorization },
    });
    assert.deepEqual(await rejectionOf(policy, on), { reason, error });
  });
}

const claims = {
  sub: "secret",
  roles: "secret",
  map: { secret: 1 },
  list: ["secret"],
  no: false,
};
const ruleCases: [Policy, string][] = [
  [
    rules("Allow", "jwt.no", "true", "'a' in jwt.list"),
    `rule "jwt.no" is false; rule "'a' in jwt.list" is false`,
  ],
  [rules("Deny", "jwt.sub != ''"), `rule "jwt.sub != ''" is true`],
  [
    rules("Allow", "'a' in jwt.gone"),
    `rule "'a' in jwt.gone" errors: field not found: gone`,
  ],
  [
    rules("Allow", "'a' in jwt.map"),
    `rule "'a' in jwt.map" errors: there is an object where a list is expected`,
  ],
  [
    rules("Allow", "jwt.sub"),
    'rule "jwt.sub" errors: expected a boolean, got a string',
  ],
  [
    rules("Allow", "jwt.map[jwt.roles + '!'] == 1"),
    `rule "jwt.map[jwt.roles + '!'] == 1" errors: it has no value`,
  ],
  [
    rules("Allow", "bool(jwt.sub)"),
    'rule "bool(jwt.sub)" errors: it has no value',
  ],
  [
    rules("Allow", "apiKey.team == 'a'"),
    `rule "apiKey.team == 'a'" errors: a variable has no value in this request`,
  ],
];
for (const [policy, error] of ruleCases) {
  Deno.test(`the log reports that ${error}`, async () => {
    const on = context({});
    on.slots.set(jwtClaims, claims);
    const rejection = await rejectionOf(policy, on);

    assert.deepEqual(rejection, { reason: "authorization", error });
    assert.doesNotMatch(rejection.error, /secret/);
  });
}
