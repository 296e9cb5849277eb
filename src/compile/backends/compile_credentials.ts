import { createHash } from "node:crypto";
import type {
  BackendCredentialsResource,
  TokenClientResource,
} from "../../api/resources/credentials/credentials_schema.ts";
import type { KeyCredentials } from "../../api/resources/credentials/secret_value.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { isFieldValue } from "../../http/field_syntax.ts";
import type {
  BackendCredentials,
  ClientCredentials,
  IdentityAssertion,
  JwtBearer,
  TokenClient,
  TokenExchange,
} from "../../identity/backend_tokens/backend_credentials.ts";
import { tokenTypes } from "../../identity/backend_tokens/token_source.ts";
import { compileIdentity } from "./compile_identity.ts";
import {
  type BackendCompilation,
  type CredentialPlace,
  UnusableCredentials,
} from "./backend_compilation.ts";
import { compileLogin } from "./compile_login.ts";
import {
  assertReachable,
  compileAuthentication,
  proofOf,
} from "./client_authentication.ts";

/**
 * Compiles the credentials of a backend.
 * @param place Service and region of signatures, and URL of an MCP server, unless the credentials say others.
 * @throws {UnusableCredentials}
 */
export function compileCredentials(
  compilation: BackendCompilation,
  credentials: BackendCredentialsResource,
  place: CredentialPlace = {},
): BackendCredentials {
  const identity = compileIdentity(compilation, credentials, place);
  if (identity !== undefined) return identity;
  const { clientCredentials, tokenExchange, jwtBearer } = credentials;
  const { identityAssertion, oauth } = credentials;
  const compiler = new ClientCompiler(compilation, place);
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
      actor: actor && { file: compilation.fileOf([kind, "actor"], actor.file) },
    };
    return { ...compiler.compile(tokenExchange, own), ...own };
  }
  if (jwtBearer !== undefined) {
    const kind = "jwtBearer";
    const path = [kind, "assertion"];
    const file = compilation.fileOf(path, jwtBearer.assertion?.file);
    const own: JwtBearer = { kind, file };
    return { ...compiler.compile(jwtBearer, own), ...own };
  }
  if (identityAssertion !== undefined) {
    return compileAssertion(identityAssertion, compiler);
  }
  if (oauth !== undefined) {
    return compileLogin(compilation, oauth, place);
  }
  return { kind: "key", token: readToken(compilation, credentials) };
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
  compilation: BackendCompilation,
  credentials: KeyCredentials,
): string {
  const token = compilation.readSecret([], "key", credentials);
  if (isFieldValue(token)) return token;
  throw new UnusableCredentials(
    Object.keys(credentials).slice(0, 1),
    "it has line breaks or control characters",
  );
}

/** Compiles the client that the gateway is at an authorization server. */
class ClientCompiler {
  readonly #compilation: BackendCompilation;
  readonly #key: string;

  constructor(
    compilation: BackendCompilation,
    { key = compilation.key }: CredentialPlace,
  ) {
    this.#compilation = compilation;
    this.#key = key;
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
      authentication: compileAuthentication(this.#compilation, path, client),
      ...proofOf(client),
      caCertificates: this.#compilation.certificatesOf(
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
    assertReachable(this.#compilation, [...path, kind], url);
    const fingerprint = createHash("sha256")
      .update(JSON.stringify([compiled, own])).digest("base64url");
    return { ...compiled, fingerprint };
  }
}
