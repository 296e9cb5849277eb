// @ts-types="./oidc_provider.d.ts"
import type { Configuration, Context, Provider } from "oidc-provider";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { createMemoryAdapter, type MemoryStore } from "./memory_adapter.ts";

/** ID of a public client, as MCP clients are. */
export const PUBLIC_CLIENT_ID = "gateway-playground";

/** A client with the client credentials grant. */
export const machine = { id: "machine", secret: "machine-secret" } as const;

/** Options of every identity provider; every field has a default. */
export interface IdpOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Redirect URIs of the registered client; loopback ones may have any port. */
  readonly redirectUris?: readonly string[];
  /** Secret of the registered client, which is public without. */
  readonly clientSecret?: string;
  /** Scopes besides those of OpenID Connect. */
  readonly scopes?: readonly string[];
  /** Users without any permission or role. */
  readonly guests?: readonly string[];
  /**
   * Fetches the metadata document of a client whose ID is the URL of that document. Such clients are rejected by default.
   */
  readonly fetchClient?: (url: string) => Promise<Response>;
  /** Further clients, as registered. */
  readonly clients?: NonNullable<Configuration["clients"]>;
  /** Called with each provider before it handles requests. */
  readonly prepare?: (provider: Provider) => void;
  /** Called for every request: `GET /.well-known/jwks.json`. */
  readonly onRequest?: (line: string) => void;
}

/** Differences between identity providers. */
export interface IdpTraits {
  /** Path of the issuer with no trailing slash; empty for the root. */
  readonly mountPath: string;
  /** Part of the issuer after the origin. */
  readonly issuerPath: string;
  readonly jwksPath: string;
  /** Token endpoint, below the mount path. */
  readonly tokenPath: string;
  /** Parameter in which a machine client sends its audience. */
  readonly audienceParameter: "audience" | "resource";
  /** Returns the path below the mount path for `target`; `undefined` results in 404. */
  locate(target: string): string | undefined;
  /** True if callbacks have `iss` and metadata announces it (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly userClaims: JsonObject;
  readonly guestClaims: JsonObject;
  readonly machineClaims: JsonObject;
  /** Added to the common configuration. */
  readonly configuration: Configuration;
}

/** Returns the configuration common to all providers, with the additions of `traits`. */
export function configure(
  traits: IdpTraits,
  options: IdpOptions,
  store: MemoryStore,
): Configuration {
  const { configuration, mountPath } = traits;
  const { scopes = [], fetchClient } = options;
  return {
    ...configuration,
    adapter: (model) => createMemoryAdapter(store, model),
    clients: clientsOf(options),
    clientBasedCORS: () => true,
    cookies: { keys: [crypto.randomUUID()] },
    extraTokenClaims: (_context, { kind, accountId, extra }) => {
      if (kind === "ClientCredentials") return traits.machineClaims;
      return options.guests?.includes(accountId ?? "")
        ? traits.guestClaims
        : { ...traits.userClaims, ...extra };
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
    renderError(context, { error, error_description: reason }) {
      context.response.set("content-type", "text/plain; charset=utf-8");
      context.body = `${error}: ${reason}\n`;
    },
    scopes: ["openid", "offline_access", "profile", "email", ...scopes],
    // The defaults print a notice on standard output when they are first used.
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

function clientsOf(
  { clientSecret, redirectUris = LOOPBACK_REDIRECT_URIS, clients = [] }:
    IdpOptions,
): NonNullable<Configuration["clients"]> {
  return [
    {
      client_id: PUBLIC_CLIENT_ID,
      application_type: "native",
      ...(clientSecret === undefined
        ? { token_endpoint_auth_method: "none" }
        : { client_secret: clientSecret }),
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
    ...clients,
  ];
}

/** Middleware that removes `iss` of RFC 9207, which the package cannot disable. */
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

/** Redirect URIs of clients on the user's machine; each may add its port. */
export const LOOPBACK_REDIRECT_URIS = [
  "http://127.0.0.1/callback",
  "http://localhost/callback",
  "http://127.0.0.1/oauth/callback",
  "http://localhost/oauth/callback",
  "http://127.0.0.1/ui/callback",
  "http://localhost/ui/callback",
] as const;

/** Returns an account that has only a name. */
export function account(
  sub: string,
): { accountId: string; claims: () => { sub: string } } {
  return { accountId: sub, claims: () => ({ sub }) };
}
