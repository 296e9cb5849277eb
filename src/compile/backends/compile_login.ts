import { createHash } from "node:crypto";
import type { UserLoginResource } from "../../api/resources/credentials/login_schema.ts";
import type { UserLogin } from "../../identity/backend_tokens/backend_credentials.ts";
import {
  type BackendCompilation,
  type CredentialPlace,
  UnusableCredentials,
} from "./backend_compilation.ts";
import {
  assertReachable,
  compileAuthentication,
  proofOf,
} from "./client_authentication.ts";

/** Compiles a login of users at a service, whose URL is the default of `resource`. @throws {UnusableCredentials} */
export function compileLogin(
  compilation: BackendCompilation,
  oauth: UserLoginResource,
  { key = compilation.key, url: service }: CredentialPlace,
): UserLogin {
  const field = "oauth";
  const { inputs } = compilation;
  if (!inputs.read(({ connectsUsers = false }) => connectsUsers)) {
    throw new UnusableCredentials(
      [field],
      'users cannot log in without "config.connections"',
    );
  }
  const { issuer, clientId, scopes, parameters = {} } = oauth;
  const { resource = service, tokenEndpoint, revocationEndpoint } = oauth;
  if (resource === undefined) {
    const problem = '"resource" is required, the URL of the service';
    throw new UnusableCredentials([field, "resource"], problem);
  }
  const { authorizationEndpoint: authorization } = oauth;
  for (const each of [resource, issuer, tokenEndpoint, revocationEndpoint]) {
    if (each !== undefined) assertReachable(compilation, [field], each);
  }
  const identity = {
    resource,
    issuer,
    authorization,
    tokenEndpoint,
    clientId,
    ...proofOf(oauth),
  };
  return {
    kind: field,
    fingerprint: createHash("sha256").update(JSON.stringify(identity))
      .digest("base64url"),
    backend: key,
    resource,
    issuer,
    endpoints: authorization === undefined || tokenEndpoint === undefined
      ? undefined
      : {
        authorization,
        token: tokenEndpoint,
        revocation: revocationEndpoint,
      },
    client: clientId === undefined ? undefined : {
      clientId,
      authentication: compileAuthentication(compilation, [field], oauth),
    },
    caCertificates: compilation.certificatesOf(
      [field, "tls", "caCertificateRefs"],
      oauth.tls?.caCertificateRefs,
    ),
    ...proofOf(oauth),
    scopes,
    parameters,
  };
}
