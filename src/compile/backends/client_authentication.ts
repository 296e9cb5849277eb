import type { TokenClientResource } from "../../api/resources/credentials/credentials_schema.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type { ClientAuthentication } from "../../identity/backend_tokens/backend_credentials.ts";
import { readPrivateKey } from "../../identity/keys/private_key.ts";
import {
  type BackendCompilation,
  UnusableCredentials,
} from "./backend_compilation.ts";

/** Checks that the gateway may connect to a server. @throws {UnusableCredentials} */
export function assertReachable(
  compilation: BackendCompilation,
  path: DiagnosticPath,
  url: string,
): void {
  const { hostname, username } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const denial = compilation.denialOf({ host, port: 0 });
  const problem = username === "" ? denial : "a URL cannot have credentials";
  if (problem !== undefined) throw new UnusableCredentials(path, problem);
}

/** Compiles whether tokens always have to be bound to a key. */
export function proofOf(
  { dpop }: Pick<TokenClientResource, "dpop">,
): { readonly requiresProof?: true } {
  return dpop === "Required" ? { requiresProof: true } : {};
}

/** Compiles how a client authenticates. @throws {UnusableCredentials} */
export function compileAuthentication(
  compilation: BackendCompilation,
  place: DiagnosticPath,
  { clientSecret, authMethod, privateKey, keyId, signingAlgorithm }: Pick<
    TokenClientResource,
    | "clientSecret"
    | "authMethod"
    | "privateKey"
    | "keyId"
    | "signingAlgorithm"
  >,
): ClientAuthentication {
  if (clientSecret !== undefined) {
    const path = [...place, "clientSecret"];
    return {
      method: "secret",
      secret: compilation.readSecret(path, "clientSecret", clientSecret),
      place: authMethod,
    };
  }
  if (privateKey === undefined) return { method: "none" };
  const path = [...place, "privateKey"];
  const pem = compilation.readSecret(path, "privateKey", privateKey);
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
