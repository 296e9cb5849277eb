// @ts-types="./idp/oidc_provider.d.ts"
import type { Configuration, Context } from "oidc-provider";
import { account, type IdpOptions } from "./idp/configuration.ts";
import { type Idp, startIdp } from "./idp/idp.ts";

/** Options of `IdpA`; every field has a default. */
export interface IdpAOptions extends IdpOptions {
  /** Claim `permissions` of users, unchecked, so that it can have a wrong shape; none by default. */
  readonly permissions?: unknown;
  /** Claim `permissions` of machine clients. */
  readonly machinePermissions?: unknown;
  /** True if clients may register themselves; the default. */
  readonly registration?: boolean;
  /** True if callbacks have `iss` (RFC 9207), which strict clients compare. Default: false. */
  readonly sendsIssuer?: boolean;
}

/**
 * Starts a provider of the kind `IdpA`: the issuer is a tenant with a trailing slash, `resource` is ignored, and a request
 * without `audience` gets an opaque access token.
 */
export function startIdpA(options: IdpAOptions = {}): Promise<Idp> {
  const { permissions, machinePermissions } = options;
  const { registration = true, sendsIssuer = false } = options;
  return startIdp({
    mountPath: "",
    issuerPath: "/",
    jwksPath: "/.well-known/jwks.json",
    tokenPath: "/oauth/token",
    audienceParameter: "audience",
    locate: dropResource,
    sendsIssuer,
    userClaims: permissions === undefined ? {} : { permissions },
    guestClaims: { permissions: [] },
    machineClaims: machinePermissions === undefined
      ? {}
      : { permissions: machinePermissions },
    configuration: configure(registration, options.scopes ?? []),
  }, options);
}

function dropResource(target: string): string {
  if (!target.startsWith("/authorize?")) return target;
  const query = new URLSearchParams(target.slice("/authorize?".length));
  query.delete("resource");
  return `/authorize?${query}`;
}

function configure(
  registration: boolean,
  scopes: readonly string[],
): Configuration {
  return {
    routes: {
      authorization: "/authorize",
      jwks: "/.well-known/jwks.json",
      registration: "/oidc/register",
      token: "/oauth/token",
      userinfo: "/userinfo",
    },
    extraParams: ["audience"],
    features: {
      registration: { enabled: registration },
      // The package supports audiences only as resource indicators.
      resourceIndicators: {
        enabled: true,
        defaultResource: findAudience,
        getResourceServerInfo: (_context, audience) => ({
          audience,
          scope: scopes.join(" "),
          accessTokenFormat: "jwt",
        }),
        useGrantedResource: () => true,
      },
    },
    // The only hook between reading a token request and using its resource.
    findAccount({ oidc }, sub) {
      if (oidc.route === "token") delete oidc.params?.resource;
      return account(sub);
    },
  };
}

function findAudience({ oidc }: Context): string | undefined {
  const audience = oidc.params?.audience ?? oidc.body?.audience;
  return typeof audience === "string" ? audience : undefined;
}
