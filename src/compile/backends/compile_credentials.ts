import { createHash } from "node:crypto";
import type {
  BackendCredentialsResource,
  TokenClientResource,
} from "../../api/resources/credentials/credentials_schema.ts";
import type { KeyCredentials } from "../../api/resources/credentials/secret_value.ts";
import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { isFieldValue } from "../../http/field_syntax.ts";
import type {
  BackendCredentials,
  ClientAuthentication,
  ClientCredentials,
  IdentityAssertion,
  JwtBearer,
  TokenClient,
  TokenExchange,
  UserLogin,
} from "../../identity/backend_tokens/backend_credentials.ts";
import { tokenTypes } from "../../identity/backend_tokens/token_source.ts";
import type { UserLoginResource } from "../../api/resources/credentials/login_schema.ts";
import { describeError } from "../../base/errors.ts";
import { readPrivateKey } from "../../identity/keys/private_key.ts";
import type { BackendContext } from "./backend_context.ts";
import { compileIdentity, type SignatureScope } from "./compile_identity.ts";
import { CredentialValues, UnusableCredentials } from "./credential_values.ts";

/** Facts about a backend that its credentials may leave out. */
interface CredentialPlace extends SignatureScope {
  /** Of an MCP server. */
  readonly url?: string | undefined;
}

/**
 * Compiles the credentials of a backend.
 * @param key Of the backend or the MCP server: what another one has is never used.
 * @param place Service and region of signatures, and URL of an MCP server, unless the credentials say others.
 * @throws {UnusableCredentials}
 */
export function compileCredentials(
  key: string,
  resource: GatewayBackend,
  credentials: BackendCredentialsResource,
  context: BackendContext,
  place: CredentialPlace = {},
): BackendCredentials {
  const { clientCredentials, tokenExchange, jwtBearer } = credentials;
  const { identityAssertion, oauth } = credentials;
  const values = new CredentialValues(resource, context);
  const identity = compileIdentity(
    key,
    credentials,
    values,
    context,
    place,
  );
  if (identity !== undefined) return identity;
  const compiler = new ClientCompiler(key, values, context);
  if (clientCredentials !== undefined) {
    const kind = "clientCredentials";
    const own: ClientCredentials = { kind };
    return { ...compiler.compile(clientCredentials, own), ...own };
  }
  if (tokenExchange !== undefined) {
    const { subjectTokenType = "AccessToken", actor } = tokenExchange;
    const kind = "tokenExchange";
    const own: TokenExchange = {
      kind,
      subjectTokenType: tokenTypes[subjectTokenType],
      actor: actor && { file: values.fileOf([kind, "actor"], actor.file) },
    };
    return { ...compiler.compile(tokenExchange, own), ...own };
  }
  if (jwtBearer !== undefined) {
    const kind = "jwtBearer";
    const path = [kind, "assertion"];
    const file = values.fileOf(path, jwtBearer.assertion?.file);
    const own: JwtBearer = { kind, file };
    return { ...compiler.compile(jwtBearer, own), ...own };
  }
  if (identityAssertion !== undefined) {
    return compileAssertion(identityAssertion, compiler);
  }
  if (oauth !== undefined) {
    return compileLogin(oauth, { key, values, context, service: place.url });
  }
  return { kind: "key", token: readToken(credentials, values) };
}

function compileAssertion(
  resource: NonNullable<BackendCredentialsResource["identityAssertion"]>,
  compiler: ClientCompiler,
): BackendCredentials {
  const kind = "identityAssertion";
  const { identityProvider, subjectTokenType = "IdToken" } = resource;
  const own: IdentityAssertion = {
    kind,
    identityProvider: compiler.compile(identityProvider, { kind }, [
      kind,
      "identityProvider",
    ]),
    subjectTokenType: tokenTypes[subjectTokenType],
  };
  return { ...compiler.compile(resource, own), ...own };
}

function readToken(
  credentials: KeyCredentials,
  values: CredentialValues,
): string {
  const token = values.read([], "key", credentials);
  if (isFieldValue(token)) return token;
  throw new UnusableCredentials(
    Object.keys(credentials).slice(0, 1),
    "it has line breaks or control characters",
  );
}

/** Compiles the client that the gateway is at an authorization server. */
class ClientCompiler {
  readonly #key: string;
  readonly #values: CredentialValues;
  readonly #context: BackendContext;

  constructor(
    key: string,
    values: CredentialValues,
    context: BackendContext,
  ) {
    this.#key = key;
    this.#values = values;
    this.#context = context;
  }

  /** @param own Fields of the kind alone. @param path Place of the client. */
  compile(
    client: TokenClientResource,
    own: { readonly kind: string },
    path: DiagnosticPath = [own.kind],
  ): TokenClient {
    const { issuer, tokenEndpoint, clientId } = client;
    const { scopes = [], resource, audience, parameters } = client;
    const compiled: Omit<TokenClient, "fingerprint"> = {
      backend: this.#key,
      server: issuer === undefined
        ? { kind: "tokenEndpoint", url: tokenEndpoint ?? "" }
        : { kind: "issuer", url: issuer },
      clientId,
      authentication: compileAuthentication(path, client, this.#values),
      ...proofOf(client),
      caCertificates: this.#values.certificatesOf(
        [...path, "tls", "caCertificateRefs"],
        client.tls?.caCertificateRefs,
      ),
      parameters: {
        ...parameters,
        ...(scopes.length > 0 && { scope: scopes.join(" ") }),
        ...(resource !== undefined && { resource }),
        ...(audience !== undefined && { audience }),
      },
    };
    const { kind, url } = compiled.server;
    assertReachable([...path, kind], url, this.#context);
    const fingerprint = createHash("sha256")
      .update(JSON.stringify([compiled, own])).digest("base64url");
    return { ...compiled, fingerprint };
  }
}

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
function compileLogin(
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

/** Checks that a server may be asked. @throws {UnusableCredentials} */
function assertReachable(
  path: DiagnosticPath,
  url: string,
  { inputs }: BackendContext,
): void {
  const { hostname, username } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const denial = inputs.read(({ egress }) =>
    egress.denialOf({ host, port: 0 })
  );
  const problem = username === "" ? denial : "a URL cannot have credentials";
  if (problem !== undefined) throw new UnusableCredentials(path, problem);
}

/** Compiles whether tokens always have to be bound to a key. */
function proofOf(
  { dpop }: Pick<TokenClientResource, "dpop">,
): { readonly requiresProof?: true } {
  return dpop === "Required" ? { requiresProof: true } : {};
}

/** Compiles how a client authenticates. @throws {UnusableCredentials} */
function compileAuthentication(
  place: DiagnosticPath,
  { clientSecret, authMethod, privateKey, keyId, signingAlgorithm }: Pick<
    TokenClientResource,
    | "clientSecret"
    | "authMethod"
    | "privateKey"
    | "keyId"
    | "signingAlgorithm"
  >,
  values: CredentialValues,
): ClientAuthentication {
  if (clientSecret !== undefined) {
    const path = [...place, "clientSecret"];
    return {
      method: "secret",
      secret: values.read(path, "clientSecret", clientSecret),
      place: authMethod,
    };
  }
  if (privateKey === undefined) return { method: "none" };
  const path = [...place, "privateKey"];
  const pem = values.read(path, "privateKey", privateKey);
  try {
    return {
      method: "privateKey",
      ...readPrivateKey(pem, signingAlgorithm),
      keyId,
    };
  } catch (error) {
    throw new UnusableCredentials(path, describeError(error));
  }
}
