import * as s from "../../../api/schema/schema.ts";

/** Tokens that are bound to a key of their client. */
export const tokenBindingSchema = s.object({
  mode: s.field(
    "`Enforce`: requests with a token that is bound to a key need a DPoP proof (RFC 9449), or the client certificate that it names (RFC 8705). `Required`: tokens have to be bound. `Ignore`: bound tokens are accepted like others, where the gateway does not see the certificate.",
    s.withDefault(s.oneOf(["Enforce", "Required", "Ignore"]), "Enforce"),
  ),
  nonce: s.field(
    "DPoP proofs need a nonce of the gateway, which clients get in a challenge and every five minutes.",
    s.withDefault(s.boolean(), false),
  ),
});

/** Tokens that are bound to a key of their client. */
export type TokenBindingConfig = s.Infer<typeof tokenBindingSchema>;
