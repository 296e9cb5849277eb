// @ts-types="./oidc_provider.d.ts"
import type { Configuration, Context } from "oidc-provider";
import { isJsonObject } from "../json_responses.ts";
import type { IdpOptions, IdpTraits } from "./idp.ts";
import { createMemoryAdapter, type MemoryStore } from "./memory_adapter.ts";

/** A client that cannot keep a secret, as MCP clients are. */
export const PUBLIC_CLIENT_ID = "gateway-playground";

/** A client that acts for itself. */
export const machine = { id: "machine", secret: "machine-secret" } as const;

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
