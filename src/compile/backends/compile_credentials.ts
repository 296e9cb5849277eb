import { createHash } from "node:crypto";
import {
  type BackendCredentialsResource,
  type KeyCredentials,
  secretEntries,
  type TokenClientResource,
} from "../../api/resources/credentials_schema.ts";
import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { POLICY_API_GROUP } from "../../api/schema/group.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import { isFieldValue } from "../../http/field_syntax.ts";
import type {
  BackendCredentials,
  ClientAuthentication,
  ClientCredentials,
  JwtBearer,
  TokenClient,
  TokenExchange,
} from "../../identity/backend_tokens/backend_credentials.ts";
import { tokenTypes } from "../../identity/backend_tokens/token_source.ts";
import { readFileOf, readSecretValue } from "../resolve/references.ts";
import type { BackendContext } from "./backend_context.ts";
import { readPrivateKey } from "../../identity/keys/private_key.ts";

/** Credentials that cannot be used, and the field that says why. */
export class UnusableCredentials extends TypeError {
  constructor(readonly path: DiagnosticPath, problem: string) {
    super(problem);
  }
}

/**
 * Compiles the credentials of a backend.
 * @param key Of the backend or the MCP server: what another one has is never used.
 * @throws {UnusableCredentials}
 */
export function compileCredentials(
  key: string,
  resource: GatewayBackend,
  credentials: BackendCredentialsResource,
  context: BackendContext,
): BackendCredentials {
  const { clientCredentials, tokenExchange, jwtBearer } = credentials;
  const compiler = new CredentialsCompiler(key, resource, context);
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
      actor: actor && { file: compiler.fileOf([kind, "actor"], actor.file) },
    };
    return { ...compiler.compile(tokenExchange, own), ...own };
  }
  if (jwtBearer !== undefined) {
    const kind = "jwtBearer";
    const path = [kind, "assertion"];
    const file = compiler.fileOf(path, jwtBearer.assertion?.file);
    const own: JwtBearer = { kind, file };
    return { ...compiler.compile(jwtBearer, own), ...own };
  }
  return { kind: "key", token: compiler.readToken(credentials) };
}

class CredentialsCompiler {
  readonly #key: string;
  readonly #resource: GatewayBackend;
  readonly #context: BackendContext;

  constructor(
    key: string,
    resource: GatewayBackend,
    context: BackendContext,
  ) {
    this.#key = key;
    this.#resource = resource;
    this.#context = context;
  }

  /** @param own What is special to the kind. */
  compile(
    client: TokenClientResource,
    own: ClientCredentials | TokenExchange | JwtBearer,
  ): TokenClient {
    const field = own.kind;
    const { issuer, tokenEndpoint, clientId } = client;
    const { scopes = [], resource, audience, parameters } = client;
    const compiled: Omit<TokenClient, "fingerprint"> = {
      backend: this.#key,
      server: issuer === undefined
        ? { kind: "tokenEndpoint", url: tokenEndpoint ?? "" }
        : { kind: "issuer", url: issuer },
      clientId,
      authentication: this.#authentication(field, client),
      parameters: {
        ...parameters,
        ...(scopes.length > 0 && { scope: scopes.join(" ") }),
        ...(resource !== undefined && { resource }),
        ...(audience !== undefined && { audience }),
      },
    };
    this.#checkServer(field, compiled.server);
    const fingerprint = createHash("sha256")
      .update(JSON.stringify([compiled, own])).digest("base64url");
    return { ...compiled, fingerprint };
  }

  /** Pods of the cluster share the files of the gateway with nobody. */
  fileOf(path: DiagnosticPath, file: string | undefined): string | undefined {
    if (file !== undefined && this.#resource.metadata.uid !== undefined) {
      throw new UnusableCredentials(
        [...path, "file"],
        "a backend of the cluster cannot read files of the gateway",
      );
    }
    return file;
  }

  readToken(credentials: KeyCredentials): string {
    const token = this.#readSecret([], "key", credentials);
    if (isFieldValue(token)) return token;
    throw new UnusableCredentials(
      Object.keys(credentials).slice(0, 1),
      "it has line breaks or control characters",
    );
  }

  #checkServer(field: string, { kind, url }: TokenClient["server"]): void {
    const { hostname, username } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const denial = this.#context.inputs.read(({ egress }) =>
      egress.denialOf({ host, port: 0 })
    );
    const problem = username === "" ? denial : "a URL cannot have credentials";
    if (problem !== undefined) {
      throw new UnusableCredentials([field, kind], problem);
    }
  }

  #authentication(
    field: string,
    { clientSecret, authMethod, privateKey, keyId, signingAlgorithm }:
      TokenClientResource,
  ): ClientAuthentication {
    if (clientSecret !== undefined) {
      const path = [field, "clientSecret"];
      return {
        method: "secret",
        secret: this.#readSecret(path, "clientSecret", clientSecret),
        place: authMethod,
      };
    }
    if (privateKey === undefined) return { method: "none" };
    const path = [field, "privateKey"];
    const pem = this.#readSecret(path, "privateKey", privateKey);
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

  #readSecret(
    path: DiagnosticPath,
    entry: keyof typeof secretEntries,
    secret: KeyCredentials,
  ): string {
    try {
      return readKey(this.#resource, secret, this.#context, entry);
    } catch (error) {
      const [field = ""] = Object.keys(secret);
      throw new UnusableCredentials([...path, field], describeError(error));
    }
  }
}

/**
 * Returns the key of a backend.
 * @throws {TypeError} When it cannot be used.
 */
export function readKey(
  { metadata }: GatewayBackend,
  { fromEnv, key, file, secretRef }: KeyCredentials,
  context: BackendContext,
  entry: keyof typeof secretEntries = "key",
): string {
  if (metadata.uid !== undefined && secretRef === undefined) {
    throw new TypeError('a backend of the cluster needs "secretRef"');
  }
  if (fromEnv !== undefined && key === undefined) {
    throw new TypeError(`environment variable "${fromEnv}" is not set`);
  }
  const text = key ??
    (file === undefined
      ? readSecretValue(
        {
          group: POLICY_API_GROUP,
          kind: "GatewayBackend",
          namespace: metadata.namespace,
        },
        { ...secretRef ?? { name: "" }, entry: secretEntries[entry] },
        context.inputs,
      )
      : readKeyFile(file, context));
  const trimmed = text.trim();
  if (trimmed === "") throw new TypeError("it is empty");
  return trimmed;
}

function readKeyFile(file: string, { inputs }: BackendContext): string {
  try {
    return readFileOf(inputs)(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new TypeError(`no such file "${file}"`);
  }
}
