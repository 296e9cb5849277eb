import { createHash } from "node:crypto";
import type { UserLoginResource } from "../../api/resources/credentials/login_schema.ts";
import type { UserLogin } from "../../identity/backend_tokens/backend_credentials.ts";
import type { BackendContext } from "./backend_context.ts";
import {
  type CredentialValues,
  UnusableCredentials,
} from "./credential_values.ts";
import {
  assertReachable,
  compileAuthentication,
  proofOf,
} from "./client_authentication.ts";

/** Backend of a login. */
interface LoginPlace {
  /** Of the backend or the MCP server. */
  readonly key: string;
  readonly values: CredentialValues;
  readonly context: BackendContext;
  /** Default of `resource`. */
  readonly service: string | undefined;
}

/** Compiles a login of users at a service. @throws {UnusableCredentials} */
export function compileLogin(
  oauth: UserLoginResource,
  { key, values, context, service }: LoginPlace,
): UserLogin {
  const field = "oauth";
  if (!context.inputs.read(({ connectsUsers }) => connectsUsers)) {
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
  for (const url of [resource, issuer, tokenEndpoint, revocationEndpoint]) {
    if (url !== undefined) assertReachable([field], url, context);
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
      authentication: compileAuthentication([field], oauth, values),
    },
    caCertificates: values.certificatesOf(
      [field, "tls", "caCertificateRefs"],
      oauth.tls?.caCertificateRefs,
    ),
    ...proofOf(oauth),
    scopes,
    parameters,
  };
}
