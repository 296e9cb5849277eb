import { parseDuration } from "../../api/schema/duration.ts";
import type { ClientAuthentication } from "../../identity/backend_tokens/backend_credentials.ts";
import { readPrivateKey } from "../../identity/keys/private_key.ts";
import type { TokenIntrospector } from "../../identity/tokens/token_introspector.ts";
import type {
  PolicyOptions,
  PolicyProblem,
  ReadFile,
  SecretAccess,
} from "../contract/policy_kind.ts";
import {
  noFiles,
  noSecrets,
  secretProblem,
} from "../contract/secret_problem.ts";
import { servicesIn } from "../contract/policy_services.ts";
import {
  type IntrospectionConfig,
  introspectionEntries,
} from "./schema/introspection_schema.ts";
import type { JwtAuthentication } from "./schema/jwt_schema.ts";
import { loginServices } from "./login_services.ts";

type Provider = JwtAuthentication["providers"][number];

/** Creates what asks a provider about its tokens; `undefined` if it is not asked. */
export function createIntrospector(
  { issuer, audiences, introspection, jwks }: Provider,
  clockSkewMs: number,
  options: PolicyOptions,
): TokenIntrospector | undefined {
  if (introspection === undefined) return undefined;
  const { identity } = servicesIn(options.services, loginServices);
  const { endpoint, clientId, response, cache } = introspection;
  return identity.introspector({
    issuer,
    audiences,
    clockSkewMs,
    clientId,
    authentication: authenticationOf(introspection, options),
    isSigned: response === "Jwt",
    metadata: endpoint === undefined ? undefined : {
      issuer,
      introspection_endpoint: endpoint,
      jwks_uri: jwks?.url,
    },
  }, parseDuration(cache));
}

/** @throws {UnusableReferenceError} When a Secret cannot be used. */
function authenticationOf(
  config: IntrospectionConfig,
  secrets: Pick<PolicyOptions, "readFile"> & SecretAccess,
): ClientAuthentication {
  const secret = readSecret("clientSecret", config, secrets);
  if (secret !== undefined) {
    return { method: "secret", secret, place: config.authMethod };
  }
  const pem = readSecret("privateKey", config, secrets) ?? "";
  const { keyId } = config;
  return { method: "privateKey", ...readPrivateKey(pem, undefined), keyId };
}

function readSecret(
  name: keyof typeof introspectionEntries,
  config: IntrospectionConfig,
  { readFile, readSecret }: { readonly readFile: ReadFile } & SecretAccess,
): string | undefined {
  const file = config[`${name}File` as const];
  const ref = config[`${name}Ref` as const];
  const text = config[name] ??
    (file === undefined
      ? ref && readSecret(ref, introspectionEntries[name])
      : readFile(file));
  return text?.trim();
}

/** Finds secrets of files that cannot be used, and settings without effect. */
export function checkIntrospection(
  providers: readonly Provider[],
  readFile: ReadFile,
): readonly PolicyProblem[] {
  return providers.flatMap(({ introspection, jwks }, index) => {
    if (introspection === undefined) return [];
    const path = ["providers", index, "introspection"];
    const problems: PolicyProblem[] = [];
    const { endpoint, response } = introspection;
    if (response === "Jwt" && endpoint !== undefined && !jwks?.url) {
      const message =
        'Cannot verify signed responses: with "endpoint", set the "url" of "jwks" too';
      problems.push({ path: [...path, "response"], message });
    }
    const field = placeOf(introspection);
    if (field === undefined || field.endsWith("Ref")) return problems;
    const problem = problemOf(introspection, readFile);
    return problem === undefined
      ? problems
      : [...problems, { path: [...path, field], message: problem }];
  });
}

/** Finds Secrets that cannot be used; the policy denies every request then. */
export function checkIntrospectionRefs(
  providers: readonly Provider[],
  secrets: SecretAccess,
): readonly PolicyProblem[] {
  return providers.flatMap(({ introspection }, index) => {
    const field = introspection && placeOf(introspection);
    if (!introspection || !field?.endsWith("Ref")) return [];
    const problem = problemOf(introspection, noFiles, secrets);
    const path = ["providers", index, "introspection", field];
    return problem === undefined ? [] : [{ path, message: problem }];
  });
}

const places = ["clientSecret", "privateKey"].flatMap((name) => [
  name,
  `${name}File`,
  `${name}Ref`,
]);

function placeOf(config: IntrospectionConfig): string | undefined {
  return places.find((name) => Object.hasOwn(config, name));
}

function problemOf(
  config: IntrospectionConfig,
  readFile: ReadFile,
  secrets: SecretAccess = noSecrets,
): string | undefined {
  return secretProblem(() => {
    const authentication = authenticationOf(config, { readFile, ...secrets });
    if (authentication.method === "secret" && authentication.secret === "") {
      throw new TypeError("it is empty");
    }
  });
}
