// @ts-types="./idp/oidc_provider.d.ts"
import type { Configuration } from "oidc-provider";
import { type Idp, startIdp } from "./idp/idp.ts";
import type { IdpOptions } from "./idp/configuration.ts";
import type { JsonObject } from "../../src/base/json.ts";

/** Options of `IdpB`; every field has a default. */
export interface IdpBOptions extends IdpOptions {
  readonly projectId?: string;
  readonly serverId?: string;
  /** Roles of users; none by default. */
  readonly roles?: readonly string[];
  /** Roles of machine clients; none by default. */
  readonly machineRoles?: readonly string[];
  /** With a tenant the roles are in `tenants.<tenant>.roles`, else in `roles`. */
  readonly tenant?: string;
  /** Bearer token that registration requires; MCP clients do not have it. */
  readonly managementKey?: string;
  /** True if callbacks have `iss` (RFC 9207), which strict clients compare; the default. */
  readonly sendsIssuer?: boolean;
}

/**
 * Starts a provider of the kind `IdpB`: one issuer for each MCP server, keys of the whole project, resource indicators,
 * `iss` in callbacks (RFC 9207), and registration behind a management key.
 */
export function startIdpB(options: IdpBOptions = {}): Promise<Idp> {
  const { projectId = "P2playground", serverId = "MSplayground" } = options;
  const { roles, machineRoles, tenant } = options;
  const { managementKey = "management-key", scopes = [] } = options;
  const { sendsIssuer = true } = options;
  const mountPath = `/v1/apps/agentic/${projectId}/${serverId}`;
  const jwksPath = `/${projectId}/.well-known/jwks.json`;
  return startIdp({
    mountPath,
    issuerPath: mountPath,
    jwksPath,
    tokenPath: "/token",
    audienceParameter: "resource",
    locate: (target) =>
      target === `/v1/mgmt/mcp/client/${projectId}/${serverId}/register`
        ? "/register"
        : locate(target, mountPath, jwksPath),
    sendsIssuer,
    userClaims: claimRoles(roles, tenant),
    guestClaims: claimRoles([], tenant),
    machineClaims: claimRoles(machineRoles, tenant),
    configuration: configure(managementKey, scopes),
  }, options);
}

/** Maps targets to paths of the package. Metadata is also at the location of RFC 8414 section 3.1, before the path of the issuer. */
function locate(
  target: string,
  mountPath: string,
  jwksPath: string,
): string | undefined {
  if (target === jwksPath) return "/jwks";
  if (target.startsWith(`${mountPath}/`)) return target.slice(mountPath.length);
  return target.startsWith("/.well-known/") && target.endsWith(mountPath)
    ? target.slice(0, -mountPath.length)
    : undefined;
}

function claimRoles(
  roles: readonly string[] | undefined,
  tenant: string | undefined,
): JsonObject {
  if (roles === undefined) return {};
  return tenant === undefined
    ? { roles }
    : { tenants: { [tenant]: { roles } } };
}

function configure(
  managementKey: string,
  scopes: readonly string[],
): Configuration {
  return {
    routes: {
      authorization: "/authorize",
      jwks: "/jwks",
      registration: "/register",
      token: "/token",
      userinfo: "/userinfo",
    },
    features: {
      registration: { enabled: true, initialAccessToken: managementKey },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => ({
          audience,
          scope: scopes.join(" "),
          accessTokenFormat: "jwt",
        }),
        useGrantedResource: () => true,
      },
    },
  };
}
