import { duration } from "../../api/schema/duration.ts";
import { policyBackendRefSchema } from "../../api/resources/policy_backend_ref.ts";
import { httpUrl, urlPath } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";
import { providerNames } from "../../identity/providers/adapters.ts";
import { credentialLocationSchema } from "./credential_schema.ts";

const jwks = s.refine(
  s.object({
    remote: s.field(
      "On a backend, called with its TLS policy.",
      s.optional(
        s.object({
          backendRef: s.field("The backend.", policyBackendRefSchema),
          jwksPath: s.field("Path of the document there.", urlPath),
        }),
      ),
    ),
    url: s.field("At a URL, called directly.", s.optional(httpUrl)),
    inline: s.field("The document itself.", s.optional(s.text(1 << 20))),
    file: s.field(
      "In a file; it is read again each minute.",
      s.optional(s.text(4096)),
    ),
  }),
  s.exactlyOne("remote", "url", "inline", "file"),
);

const tokenProvider = s.object({
  issuer: s.field(
    "Equal to the `iss` claim, character by character.",
    s.text(2048),
  ),
  audiences: s.field(
    "One of them must be in the `aud` claim; any audience when left out.",
    s.optional(s.list(s.text(2048), { min: 1, max: 64 })),
  ),
  jwks: s.field("Keys of the provider (JWKS).", jwks),
});

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
        "Scopes that clients may ask for.",
        s.optional(s.list(s.text(256))),
      ),
      bearerMethodsSupported: s.field(
        "How tokens are sent.",
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
    "Identity provider whose peculiarities are met; none when left out. `Auth0` is `IdpA`, `Descope` is `IdpB`.",
    s.optional(s.oneOf(providerNames)),
  ),
  clientId: s.field(
    "Client that is registered at the provider; the gateway answers registrations with it.",
    s.optional(s.text(2048)),
  ),
  resourceMetadata: s.field(
    "Members of the protected-resource metadata; they replace what is computed.",
    s.optional(resourceMetadata),
  ),
  issuerMode: s.field(
    "Who is the authorization server for clients: the provider (`Upstream`), the provider under the name of the gateway (`Gateway`), or the gateway itself, which logs in at the provider as `clientId` (`Proxied`, works with every client). `Gateway` with a provider, else `Upstream`.",
    s.optional(s.oneOf(["Gateway", "Upstream", "Proxied"])),
  ),
  clientSecret: s.field(
    "Secret of `clientId`, for `Proxied`; write `${NAME}` to take it from the environment. None for a public client.",
    s.optional(s.secret()),
  ),
  clientSecretFile: s.field(
    "File with the secret, in place of `clientSecret`.",
    s.optional(s.text(4096)),
  ),
  scopes: s.field(
    "Scopes that every login of `Proxied` asks the provider for, besides those of the client.",
    s.optional(s.list(s.text(256))),
  ),
  stateSecret: s.field(
    "Seals the logins of `Proxied`, at least 32 characters, the same for every replica. Without one, `config.kv` keeps a secret, or logins end with the process.",
    s.optional(s.secret()),
  ),
  stateSecretFile: s.field(
    "File with such secrets, one a line: the first seals, all of them open.",
    s.optional(s.text(4096)),
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
    "Whether the MCP server gets the token, which MCP forbids.",
    s.withDefault(s.boolean(), false),
  ),
});

/** Verification of JSON Web Tokens, with the OAuth endpoints of an MCP server as an option. */
export const jwtAuthenticationSchema = s.object({
  mode: s.field(
    "`Strict` demands a token, `Optional` lets requests without one pass, `Permissive` also those with a bad one, without claims.",
    s.withDefault(s.oneOf(["Strict", "Optional", "Permissive"]), "Strict"),
  ),
  providers: s.field(
    "Whose tokens are accepted; the `iss` claim chooses.",
    s.refine(
      s.list(tokenProvider, { min: 1, max: 64 }),
      s.unique((provider) => provider.issuer, "issuer"),
    ),
  ),
  location: s.field(
    "Where the token is; `Authorization: Bearer` when left out.",
    s.optional(credentialLocationSchema),
  ),
  clockSkew: s.field(
    "By how much clocks may differ.",
    s.withDefault(duration, "60s"),
  ),
  mcp: s.field(
    "Serves the OAuth endpoints of an MCP server, which has one provider.",
    s.optional(mcp),
  ),
});

/** Verification of JSON Web Tokens. */
export type JwtAuthentication = s.Infer<typeof jwtAuthenticationSchema>;
