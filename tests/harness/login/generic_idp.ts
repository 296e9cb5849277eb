import type { IdpOptions } from "../../../cli/dev/idp/configuration.ts";
import { type Idp, startIdp } from "../../../cli/dev/idp/idp.ts";

/**
 * Starts a provider that does all that MCP asks of one: open registration, resource indicators (RFC 8707) and client metadata
 * documents.
 */
export function startGenericIdp(
  { sendsIssuer, accessTokenFormat = "jwt", ...options }: IdpOptions & {
    readonly sendsIssuer: boolean;
    /** `opaque` tokens can be introspected (RFC 7662). */
    readonly accessTokenFormat?: "jwt" | "opaque";
  },
): Promise<Idp> {
  return startIdp({
    mountPath: "",
    issuerPath: "",
    jwksPath: "/jwks",
    tokenPath: "/token",
    audienceParameter: "resource",
    locate: (target) => target,
    sendsIssuer,
    userClaims: {},
    guestClaims: {},
    machineClaims: {},
    configuration: {
      fetch: fetchWhole,
      routes: {
        authorization: "/authorize",
        introspection: "/introspect",
        jwks: "/jwks",
        registration: "/register",
        token: "/token",
        userinfo: "/userinfo",
      },
      features: {
        backchannelLogout: { enabled: true },
        introspection: { enabled: accessTokenFormat === "opaque" },
        registration: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, audience) => ({
            audience,
            scope: "",
            accessTokenFormat,
          }),
          useGrantedResource: () => true,
        },
      },
    },
  }, options);
}

/** Fetches with the body: the package leaves that of a response to its notice of a logout unread. */
async function fetchWhole(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  return new Response(await response.bytes(), response);
}
