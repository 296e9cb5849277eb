// @ts-types="./oidc_provider.d.ts"
import type { Configuration, Context } from "oidc-provider";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { createMemoryAdapter, type MemoryStore } from "./memory_adapter.ts";

/** A client that cannot keep a secret, as MCP clients are. */
export const PUBLIC_CLIENT_ID = "gateway-playground";

/** A client that acts for itself. */
export const machine = { id: "machine", secret: "machine-secret" } as const;

/** What can be chosen about every identity provider; every field has a default. */
export interface IdpOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Redirect URIs of the client that is registered beforehand; a loopback one may have any port. */
  readonly redirectUris?: readonly string[];
  /** What the provider knows besides OpenID Connect's own scopes. */
  readonly scopes?: readonly string[];
  /** Users who may do nothing: they have no permission and no role. */
  readonly guests?: readonly string[];
  /**
   * The document by which a client that nobody registered describes itself, at the URL that is its ID. Such clients are
   * refused by default.
   */
  readonly fetchClient?: (url: string) => Promise<Response>;
  /** Told of every request: `GET /.well-known/jwks.json`. */
  readonly onRequest?: (line: string) => void;
}

/** What makes one identity provider differ from another. */
export interface IdpTraits {
  /** Path of the issuer with no trailing slash; empty for the root. */
  readonly mountPath: string;
  /** What follows the origin in the issuer. */
  readonly issuerPath: string;
  readonly jwksPath: string;
  /** Endpoint of the token, below the mount path. */
  readonly tokenPath: string;
  /** How a program names its audience. */
  readonly audienceParameter: "audience" | "resource";
  /** The path below the mount path that answers `target`; undefined answers 404. */
  locate(target: string): string | undefined;
  /** Whether a callback names the issuer in `iss`, and metadata says so (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly userClaims: JsonObject;
  readonly guestClaims: JsonObject;
  readonly machineClaims: JsonObject;
  /** On top of what all have in common. */
  readonly configuration: Configuration;
}

/** The configuration that all providers have in common, with what `traits` add. */
export function configure(
  traits: IdpTraits,
  options: IdpOptions,
  store: MemoryStore,
): Configuration {
  const { configuration, mountPath } = traits;
  const { scopes = [], redirectUris = loopbackRedirectUris, fetchClient } =
    options;
  return {
    ...configuration,
    adapter: (model) => createMemoryAdapter(store, model),
    clients: [
      {
        client_id: PUBLIC_CLIENT_ID,
        application_type: "native",
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: [...redirectUris],
      },
      {
        client_id: machine.id,
        client_secret: machine.secret,
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
    ],
    clientBasedCORS: () => true,
    cookies: { keys: [crypto.randomUUID()] },
    extraTokenClaims: (_context, { kind, accountId }) => {
      if (kind === "ClientCredentials") return traits.machineClaims;
      return options.guests?.includes(accountId ?? "")
        ? traits.guestClaims
        : traits.userClaims;
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      ...configuration.features,
      ...(fetchClient &&
        { clientIdMetadataDocument: { enabled: true, ack: "draft-02" } }),
    },
    ...(fetchClient && { fetch: fetchClient }),
    findAccount: configuration.findAccount ?? ((_context, sub) => account(sub)),
    interactions: { url: (_context, { uid }) => `${mountPath}/login/${uid}` },
    renderError(context, { error, error_description: why }) {
      context.response.set("content-type", "text/plain; charset=utf-8");
      context.body = `${error}: ${why}\n`;
    },
    scopes: ["openid", "offline_access", "profile", "email", ...scopes],
    // Said, because the defaults print a notice on standard output when they are first used.
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      ClientCredentials: 3600,
      Grant: 86_400,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
  };
}

/** Middleware that undoes RFC 9207, which the package has no switch for. */
export async function hideIssuer(
  context: Context,
  next: () => Promise<void>,
): Promise<void> {
  await next();
  const location = URL.parse(context.response.get("location"));
  if (location?.searchParams.has("iss")) {
    location.searchParams.delete("iss");
    context.response.set("location", location.href);
  }
  if (isJsonObject(context.body)) {
    const { authorization_response_iss_parameter_supported: _, ...rest } =
      context.body;
    context.body = rest;
  }
}

/** Where clients on the user's machine wait for the browser; each may add its port. */
const loopbackRedirectUris = [
  "http://127.0.0.1/callback",
  "http://localhost/callback",
  "http://127.0.0.1/oauth/callback",
  "http://localhost/oauth/callback",
];

/** An account with nothing but a name. */
export function account(
  sub: string,
): { accountId: string; claims: () => { sub: string } } {
  return { accountId: sub, claims: () => ({ sub }) };
}
