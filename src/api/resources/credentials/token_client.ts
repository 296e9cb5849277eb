import { caCertificateRefs } from "../../schema/ca_reference.ts";
import { httpUrl } from "../../schema/scalars.ts";
import * as s from "../../schema/schema.ts";
import { secretEntries, secretValue } from "./secret_value.ts";

/** Scopes of tokens. */
export const scopeList = s.list(
  s.pattern(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "a scope without blanks", 256),
  { max: 64 },
);

/** Field of a client with a secret. */
export const authMethod = s.field(
  "How the client sends its secret. Default: `Basic`, unless the metadata lists only `Post`.",
  s.optional(s.oneOf(["Basic", "Post"])),
);

/** Field of a client with a private key. */
export const keyId = s.field(
  "Key ID in the header of assertions.",
  s.optional(s.text(256)),
);

/** Fields of a client: the authorization server, the client that the gateway is there, and the tokens that it requests. */
export const tokenClientEntries = {
  issuer: s.field(
    "Issuer of the authorization server, whose metadata names the token endpoint (RFC 8414, OpenID Connect).",
    s.optional(httpUrl),
  ),
  tokenEndpoint: s.field(
    "Token endpoint, in place of `issuer`.",
    s.optional(httpUrl),
  ),
  clientId: s.field(
    "Client ID of the gateway at the authorization server.",
    s.text(2048),
  ),
  clientSecret: s.field(
    "Secret of the client.",
    s.optional(secretValue("secret", secretEntries.clientSecret)),
  ),
  authMethod,
  privateKey: s.field(
    "Private key (PEM) with which the client authenticates, in place of a secret (`private_key_jwt`).",
    s.optional(secretValue("private key", secretEntries.privateKey)),
  ),
  keyId,
  signingAlgorithm: s.field(
    "Algorithm of assertions. Default: that of the key, and `RS256` for RSA.",
    s.optional(
      s.oneOf([
        "RS256",
        "PS256",
        "ES256",
        "ES384",
        "ES512",
        "EdDSA",
      ]),
    ),
  ),
  tls: s.field(
    "Verification of the certificate of the authorization server. Default: the system's CAs.",
    s.optional(s.object({ caCertificateRefs })),
  ),
  scopes: s.field(
    "Scopes of the tokens. Default: those that the authorization server chooses.",
    s.optional(scopeList),
  ),
  resource: s.field(
    "URL of the service that the tokens are for (RFC 8707).",
    s.optional(httpUrl),
  ),
  audience: s.field(
    "Name of the service that the tokens are for, at servers that want `audience`.",
    s.optional(s.text(2048)),
  ),
  parameters: s.field(
    "Further parameters of token requests.",
    s.optional(s.map(s.text(128), s.text(4096))),
  ),
  dpop: s.field(
    "Tokens that are bound to a key of the gateway, with which it proves each request (DPoP, RFC 9449). `Auto`: where the service asks for that. `Required`: always; other tokens are rejected.",
    s.optional(s.oneOf(["Auto", "Required"])),
    "Auto",
  ),
};

/** Parameters that other fields decide. */
const ownParameters: ReadonlySet<string> = new Set([
  "actor_token",
  "actor_token_type",
  "assertion",
  "audience",
  "client_assertion",
  "client_assertion_type",
  "client_id",
  "client_secret",
  "code_challenge",
  "code_challenge_method",
  "grant_type",
  "redirect_uri",
  "resource",
  "response_type",
  "scope",
  "state",
  "subject_token",
  "subject_token_type",
]);

/** Rules of a client. */
export const tokenClientRules = [
  s.exactlyOne("issuer", "tokenEndpoint"),
  s.atMostOne("clientSecret", "privateKey"),
  ownParametersRule(),
] as const;

/** Returns the rule that `parameters` of the configuration replace none of the gateway. */
export function ownParametersRule(
  own: ReadonlySet<string> = ownParameters,
) {
  return s.rule<{ readonly parameters?: Readonly<Record<string, string>> }>(
    ({ parameters = {} }) =>
      !Object.keys(parameters).some((name) => own.has(name)),
    ({ parameters = {} }) =>
      `the gateway sends "${
        Object.keys(parameters).find((name) => own.has(name))
      }" itself, as other fields say`,
    ["parameters"],
  );
}
