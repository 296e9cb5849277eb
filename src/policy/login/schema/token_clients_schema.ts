import { secretRefSchema } from "../../../api/resources/credentials/secret_value.ts";
import * as s from "../../../api/schema/schema.ts";
import { jwksSchema } from "./jwks_schema.ts";

/** Entry of `clientSecretRef` unless it names another. */
export const TOKEN_CLIENT_ENTRY = "clientSecret";

/** A client that gets tokens without a browser. */
export const tokenClientSchema = s.refine(
  s.object({
    clientId: s.field("Client ID.", s.text(2048)),
    clientSecret: s.field(
      "Secret of the client, at least 16 characters; write `${NAME}` to take it from the environment.",
      s.optional(s.secret()),
    ),
    clientSecretRef: s.field(
      "Secret with the secret, in place of `clientSecret`.",
      s.optional(secretRefSchema("policy", TOKEN_CLIENT_ENTRY)),
    ),
    jwks: s.field(
      "Keys with which the client signs assertions (`private_key_jwt`), in place of a secret.",
      s.optional(jwksSchema),
    ),
    scopes: s.field(
      "Scopes that its tokens may have. Default: none.",
      s.withDefault(s.list(s.text(256), { max: 64 }), []),
    ),
    clientCredentials: s.field(
      "The client may get tokens for itself; else only for users about whom an identity provider makes an assertion.",
      s.withDefault(s.boolean(), true),
    ),
  }),
  s.exactlyOne("clientSecret", "clientSecretRef", "jwks"),
  s.rule(
    ({ clientSecret }) => (clientSecret?.length ?? 16) >= 16,
    "shorter than 16 characters",
    ["clientSecret"],
  ),
);

/** A client that gets tokens without a browser. */
export type TokenClientConfig = s.Infer<typeof tokenClientSchema>;

/** An identity provider whose assertions about users clients exchange for tokens. */
export const assertionIssuerSchema = s.object({
  issuer: s.field(
    "Issuer; must equal the `iss` claim exactly.",
    s.text(2048),
  ),
  jwks: s.field("Keys of the provider.", jwksSchema),
});
