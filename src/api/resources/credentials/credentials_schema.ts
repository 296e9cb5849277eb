import * as s from "../../schema/schema.ts";
import {
  awsIdentity,
  azureIdentity,
  googleIdentity,
} from "./cloud_identity.ts";
import { userLogin } from "./login_schema.ts";
import {
  given,
  hasOneSource,
  REQUIRED,
  secretEntries,
  secretFields,
  TOGETHER,
} from "./secret_value.ts";
import { tokenClientEntries, tokenClientRules } from "./token_client.ts";

const clientCredentials = s.refine(
  s.object(tokenClientEntries),
  ...tokenClientRules,
  s.atLeastOne("clientSecret", "privateKey"),
);

const tokenExchange = s.refine(
  s.object({
    ...tokenClientEntries,
    subjectTokenType: s.field(
      "Type of the caller's token.",
      s.optional(s.oneOf(["AccessToken", "Jwt", "IdToken"])),
      "AccessToken",
    ),
    actor: s.field(
      "Asks for tokens in which the gateway acts for the caller (delegation), and rejects JWTs without `act`. Default: the tokens are those of the caller (impersonation).",
      s.optional(s.object({
        file: s.field(
          "File with the token of the gateway, such as a projected service account token; in configuration files. Default: a token that the client gets for itself.",
          s.optional(s.text(4096)),
        ),
      })),
    ),
  }),
  ...tokenClientRules,
);

const jwtBearer = s.refine(
  s.object({
    ...tokenClientEntries,
    assertion: s.field(
      "The assertion. Default: the token of the caller.",
      s.optional(s.object({
        file: s.field(
          "File with the assertion, such as a projected service account token, read for each token; in configuration files. Tokens are the same for all callers then.",
          s.text(4096),
        ),
      })),
    ),
  }),
  ...tokenClientRules,
);

const {
  scopes: _scopes,
  resource: _resource,
  audience: _audience,
  dpop: _dpop,
  ...identityProviderEntries
} = tokenClientEntries;

const identityAssertion = s.refine(
  s.object({
    ...tokenClientEntries,
    identityProvider: s.field(
      "The identity provider of the users, and the client that the gateway is there.",
      s.refine(s.object(identityProviderEntries), ...tokenClientRules),
    ),
    subjectTokenType: s.field(
      "Type of the caller's token.",
      s.optional(s.oneOf(["IdToken", "AccessToken"])),
      "IdToken",
    ),
  }),
  ...tokenClientRules,
  s.rule(
    ({ issuer }) => issuer !== undefined,
    '"issuer" is required: the assertion names it',
    ["issuer"],
  ),
);

/** The kinds of credentials for which the gateway gets tokens. */
export const tokenKinds = [
  "clientCredentials",
  "tokenExchange",
  "jwtBearer",
  "identityAssertion",
  "oauth",
  "aws",
  "google",
  "azure",
] as const;

/** Credentials of the gateway at a backend: a key, or tokens that it gets. */
export const backendCredentials = s.refine(
  s.object({
    ...secretFields("key", secretEntries.key),
    clientCredentials: s.field(
      "Tokens of the gateway itself (RFC 6749 section 4.4).",
      s.optional(clientCredentials),
    ),
    tokenExchange: s.field(
      "Tokens for the caller of each request, in exchange for the token that `jwtAuthentication` has verified (RFC 8693).",
      s.optional(tokenExchange),
    ),
    jwtBearer: s.field(
      "Tokens for an assertion: the verified token of the caller, or a file (RFC 7523 section 2.1).",
      s.optional(jwtBearer),
    ),
    identityAssertion: s.field(
      "Tokens for an assertion about the caller that the identity provider issues in exchange for the caller's token, where the provider decides which services the user may reach (Identity Assertion Authorization Grant, enterprise-managed authorization of MCP).",
      s.optional(identityAssertion),
    ),
    oauth: s.field(
      "Tokens that each user gets by a login at the service, on a page of `config.connections`.",
      s.optional(userLogin),
    ),
    aws: s.field(
      "An identity of AWS, with which the gateway signs requests (Signature Version 4): that of the environment, of a profile, of the pod or of the instance.",
      s.optional(awsIdentity),
    ),
    google: s.field(
      "Access tokens for an identity of Google Cloud: of a file, of `gcloud`, of the pod or of the instance.",
      s.optional(googleIdentity),
    ),
    azure: s.field(
      "Access tokens for an identity of Microsoft Entra: a client with a secret, a workload identity, or a managed identity.",
      s.optional(azureIdentity),
    ),
  }),
  s.rule(
    (value) => given(value).length + kindsOf(value).length > 0,
    `${REQUIRED}, or one of "${tokenKinds.join('", "')}"`,
  ),
  s.rule(hasOneSource, TOGETHER),
  s.rule(
    (value) => Number(given(value).length > 0) + kindsOf(value).length <= 1,
    (value) =>
      `"${
        [...given(value).slice(0, 1), ...kindsOf(value)].join('" and "')
      }" cannot be used together`,
  ),
);

function kindsOf(value: object): readonly string[] {
  return tokenKinds.filter((name) => Object.hasOwn(value, name));
}

/** Credentials of the gateway at a backend. */
export type BackendCredentialsResource = s.Infer<typeof backendCredentials>;

/** The client of one of the kinds. */
export type TokenClientResource = s.Infer<typeof clientCredentials>;
