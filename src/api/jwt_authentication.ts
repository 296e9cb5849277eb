import { duration } from "./duration.ts";
import { policyApiGroup } from "./group.ts";
import {
  headerName,
  httpUrl,
  namespace,
  port,
  referenceName,
  urlPath,
} from "./scalars.ts";
import * as s from "./schema.ts";

/** A backend that a policy itself calls, such as the key server of an identity provider. */
export const policyBackendRefSchema = s.object({
  group: s.withDefault(s.string(), policyApiGroup),
  kind: s.withDefault(s.text(63), "GatewayBackend"),
  name: referenceName,
  namespace: s.optional(namespace),
  port: s.optional(port),
});

/** Where a credential is found in a request. */
export const credentialLocationSchema = s.refine(
  s.object({
    header: s.field(
      "In a header.",
      s.optional(s.object({
        name: s.field("Name of the header.", headerName),
        prefix: s.field(
          "What comes before the credential, such as `Bearer` and a blank; in any case.",
          s.optional(s.string()),
        ),
      })),
    ),
    queryParameter: s.field(
      "In a parameter of the query.",
      s.optional(
        s.object({ name: s.field("Name of the parameter.", s.text(256)) }),
      ),
    ),
    cookie: s.field(
      "In a cookie.",
      s.optional(
        s.object({ name: s.field("Name of the cookie.", headerName) }),
      ),
    ),
  }),
  s.exactlyOne("header", "queryParameter", "cookie"),
);

const jwks = s.refine(
  s.object({
    remote: s.optional(
      s.object({ backendRef: policyBackendRefSchema, jwksPath: urlPath }),
    ),
    url: s.optional(httpUrl),
    inline: s.optional(s.text(1 << 20)),
    file: s.optional(s.text(4096)),
  }),
  s.exactlyOne("remote", "url", "inline", "file"),
);

const tokenProvider = s.object({
  issuer: s.text(2048),
  audiences: s.optional(s.list(s.text(2048), { min: 1, max: 64 })),
  jwks,
});

const documentedMetadata = [
  "resource",
  "scopesSupported",
  "bearerMethodsSupported",
];

const resourceMetadata = s.refine(
  s.objectWithRest(
    {
      resource: s.optional(httpUrl),
      scopesSupported: s.optional(s.list(s.text(256))),
      bearerMethodsSupported: s.optional(s.list(s.text(64))),
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
  provider: s.optional(s.oneOf(["IdpA", "IdpB"])),
  clientId: s.optional(s.text(2048)),
  resourceMetadata: s.optional(resourceMetadata),
  issuerMode: s.optional(s.oneOf(["Gateway", "Upstream"])),
  registration: s.optional(s.oneOf(["Gateway", "Upstream"])),
  forwardToken: s.withDefault(s.boolean(), false),
});

/** Verification of JSON Web Tokens, with the OAuth endpoints of an MCP server as an option. */
export const jwtAuthenticationSchema = s.object({
  mode: s.withDefault(s.oneOf(["Strict", "Optional", "Permissive"]), "Strict"),
  providers: s.refine(
    s.list(tokenProvider, { min: 1, max: 64 }),
    s.unique((provider) => provider.issuer, "issuer"),
  ),
  location: s.optional(credentialLocationSchema),
  clockSkew: s.withDefault(duration, "60s"),
  mcp: s.optional(mcp),
});

/** Verification of JSON Web Tokens. */
export type JwtAuthentication = s.Infer<typeof jwtAuthenticationSchema>;
/** A backend that a policy itself calls. */
export type PolicyBackendRef = s.Infer<typeof policyBackendRefSchema>;
/** Where a credential is found in a request. */
export type CredentialLocation = s.Infer<typeof credentialLocationSchema>;
