import { duration } from "../../../api/schema/duration.ts";
import {
  clientSecretFields,
  secretEntries,
  secretRefSchema,
} from "../../../api/resources/credentials/secret_value.ts";
import {
  authMethod,
  keyId,
} from "../../../api/resources/credentials/token_client.ts";
import { httpUrl } from "../../../api/schema/scalars.ts";
import * as s from "../../../api/schema/schema.ts";

/** Entries of `clientSecretRef` and `privateKeyRef` unless they name others. */
export const introspectionEntries = {
  clientSecret: secretEntries.clientSecret,
  privateKey: secretEntries.privateKey,
} as const;

/** Introspection of the tokens of a provider (RFC 7662). */
export const introspectionSchema = s.refine(
  s.object({
    endpoint: s.field(
      "Introspection endpoint. Default: that of the issuer's metadata.",
      s.optional(httpUrl),
    ),
    clientId: s.field(
      "Client ID of the gateway at the provider.",
      s.text(2048),
    ),
    ...clientSecretFields(
      "Secret of the client; write `${NAME}` to take it from the environment.",
    ),
    authMethod,
    privateKey: s.field(
      "Private key (PEM) with which the client authenticates, in place of a secret (`private_key_jwt`).",
      s.optional(s.secret()),
    ),
    privateKeyFile: s.field(
      "File with the private key, in configuration files.",
      s.optional(s.text(4096)),
    ),
    privateKeyRef: s.field(
      "Secret with the private key.",
      s.optional(secretRefSchema("policy", introspectionEntries.privateKey)),
    ),
    keyId,
    response: s.field(
      "`Jwt` requires responses that the provider has signed (RFC 9701).",
      s.withDefault(s.oneOf(["Json", "Jwt"]), "Json"),
    ),
    cache: s.field(
      "Time for which an active token is believed; a revoked one is rejected after that. `0s` asks for each request.",
      s.withDefault(duration, "30s"),
    ),
  }),
  s.exactlyOne(
    "clientSecret",
    "clientSecretFile",
    "clientSecretRef",
    "privateKey",
    "privateKeyFile",
    "privateKeyRef",
  ),
);

/** Introspection of the tokens of a provider. */
export type IntrospectionConfig = s.Infer<typeof introspectionSchema>;
