import {
  clientSecretFields,
  sealingSecretFile,
  sealingSecretRef,
} from "../../../api/resources/credentials/secret_value.ts";
import { duration } from "../../../api/schema/duration.ts";
import { httpUrl } from "../../../api/schema/scalars.ts";
import * as s from "../../../api/schema/schema.ts";
import {
  describedAliases,
  providerNames,
} from "../../../identity/providers/adapters.ts";
import { clientRulesSchema } from "./client_rules_schema.ts";
import { jwksSchema } from "./jwks_schema.ts";
import {
  assertionIssuerSchema,
  tokenClientSchema,
} from "./token_clients_schema.ts";
import { introspectionSchema } from "./introspection_schema.ts";
import { tokenBindingSchema } from "../binding/token_binding_schema.ts";
import { credentialLocationSchema } from "../../contract/credential_location.ts";

/** Entry of `stateSecretRef` unless it names another. */
export const STATE_SECRET_ENTRY = "stateSecret";

const tokenProvider = s.refine(
  s.object({
    issuer: s.field(
      "Issuer; must equal the `iss` claim exactly.",
      s.text(2048),
    ),
    audiences: s.field(
      "Accepted audiences: the `aud` claim must contain one. Default: any audience.",
      s.optional(s.list(s.text(2048), { min: 1, max: 64 })),
    ),
    jwks: s.field(
      "Keys of the provider (JWKS), with which the gateway verifies JWTs itself.",
      s.optional(jwksSchema),
    ),
    introspection: s.field(
      "Asks the provider about opaque tokens, and without `jwks` about JWTs too.",
      s.optional(introspectionSchema),
    ),
  }),
  s.atLeastOne("jwks", "introspection"),
);

const documentedMetadata = [
  "resource",
  "scopesSupported",
  "bearerMethodsSupported",
];

const resourceMetadata = s.refine(
  s.objectWithRest(
    {
      resource: s.field(
        "Identifier of the MCP server; its origin is the base of all addresses.",
        s.optional(httpUrl),
      ),
      scopesSupported: s.field(
        "Scopes that clients may request.",
        s.optional(s.list(s.text(256))),
      ),
      bearerMethodsSupported: s.field(
        "Ways to send tokens.",
        s.optional(s.list(s.text(64))),
      ),
    },
    s.unknown(),
  ),
  s.rule(
    (metadata) => unknownMetadata(metadata) === undefined,
    `unknown field; fields are ${
      documentedMetadata.join(", ")
    } and snake_case names of RFC 9728`,
    (metadata) => [unknownMetadata(metadata) ?? ""],
  ),
);

function unknownMetadata(metadata: object): string | undefined {
  return Object.keys(metadata)
    .find((key) => !documentedMetadata.includes(key) && !/^[^A-Z]+$/.test(key));
}

const mcp = s.object({
  provider: s.field(
    `Identity provider that the gateway adapts to. Leave it out for providers that are not listed. ${describedAliases}.`,
    s.optional(s.oneOf(providerNames)),
  ),
  issuer: s.field(
    "Issuer at which users log in, one of `providers`; required if they have several issuers, except with issuer mode `Upstream`, which lists all of them, this one first.",
    s.optional(s.text(2048)),
  ),
  clientId: s.field(
    "Client id registered at the provider; the gateway returns it to every client that registers.",
    s.optional(s.text(2048)),
  ),
  resourceMetadata: s.field(
    "Members of the protected-resource metadata; they replace the computed ones.",
    s.optional(resourceMetadata),
  ),
  issuerMode: s.field(
    "The authorization server for clients: the provider (`Upstream`), the provider under the name of the gateway (`Gateway`), or the gateway itself, which logs in at the provider as `clientId` (`Proxied`, works with every client). Default: `Gateway` with a provider, else `Upstream`.",
    s.optional(s.oneOf(["Gateway", "Upstream", "Proxied"])),
  ),
  ...clientSecretFields(
    "Secret of `clientId`, for `Proxied`; write `${NAME}` to take it from the environment. None for a public client.",
  ),
  scopes: s.field(
    "Scopes that every login of `Proxied` asks the provider for, besides those of the client.",
    s.optional(s.list(s.text(256))),
  ),
  stateSecret: s.field(
    "Seals the logins of `Proxied`, at least 32 characters, the same for every replica. Without one, `config.kv` keeps a secret, or logins end with the process.",
    s.optional(s.secret()),
  ),
  stateSecretFile: sealingSecretFile,
  stateSecretRef: sealingSecretRef(STATE_SECRET_ENTRY),
  clients: s.field(
    "Clients that may log in users with `Proxied`. Default: all.",
    s.optional(clientRulesSchema),
  ),
  tokenClients: s.field(
    "Clients that authenticate at the token endpoint of `Proxied`, such as programs without a user.",
    s.optional(
      s.refine(
        s.list(tokenClientSchema, { max: 256 }),
        s.unique(({ clientId }) => clientId, "client"),
      ),
    ),
  ),
  assertionIssuers: s.field(
    "Identity providers whose assertions about users (ID-JAG) such clients, and those with a metadata document and keys, exchange for tokens of `Proxied`: enterprise-managed authorization.",
    s.optional(
      s.refine(
        s.list(assertionIssuerSchema, { max: 16 }),
        s.unique(({ issuer }) => issuer, "issuer"),
      ),
    ),
  ),
  clientMetadataHosts: s.field(
    "Hosts, such as `clients.example.internal:8443`, whose client metadata documents are fetched although their addresses are private.",
    s.optional(s.list(s.text(255))),
  ),
  registration: s.field(
    "Where clients of `IdpA` register; `Gateway` takes a `clientId`.",
    s.optional(s.oneOf(["Gateway", "Upstream"])),
  ),
  forwardToken: s.field(
    "Forwards the token to the MCP server, which MCP forbids.",
    s.withDefault(s.boolean(), false),
  ),
});

/** Verification of JSON Web Tokens, with the OAuth endpoints of an MCP server as an option. */
export const jwtAuthenticationSchema = s.object({
  mode: s.field(
    "`Strict`: requests need a valid token. `Optional`: requests without a token pass. `Permissive`: requests with an invalid token pass too, without claims. `AnyOf`: requests need a valid token, or what another policy of this mode accepts.",
    s.withDefault(
      s.oneOf(["Strict", "Optional", "Permissive", "AnyOf"]),
      "Strict",
    ),
  ),
  providers: s.field(
    "Providers whose tokens are accepted. The `iss` claim selects the one with this `issuer`; of several with the same issuer and different audiences, one has to accept the token.",
    s.refine(
      s.list(tokenProvider, { min: 1, max: 64 }),
      s.unique(
        ({ issuer, audiences = [] }) =>
          [issuer, ...audiences.toSorted()].join(" "),
        "provider",
      ),
    ),
  ),
  location: s.field(
    "Place of the token. Default: `Authorization: Bearer`.",
    s.optional(credentialLocationSchema),
  ),
  clockSkew: s.field(
    "Tolerated difference between clocks.",
    s.withDefault(duration, "60s"),
  ),
  tokenBinding: s.field(
    "Tokens that are bound to a key of their client. Default: such tokens need a proof of the key.",
    s.optional(tokenBindingSchema),
  ),
  mcp: s.field(
    "Serves the OAuth endpoints of an MCP server.",
    s.optional(mcp),
  ),
});

/** Verification of JSON Web Tokens. */
export type JwtAuthentication = s.Infer<typeof jwtAuthenticationSchema>;
