import { X509Certificate } from "node:crypto";
import type { VaultKeys } from "../../../identity/vault/vault_seal.ts";
import { parseVaultKeys } from "../../../identity/vault/vault_keys.ts";
import type {
  PolicyProblem,
  ReadFile,
  SecretAccess,
} from "../../contract/policy_kind.ts";
import {
  noFiles,
  noSecrets,
  secretProblem,
} from "../../contract/secret_problem.ts";
import {
  type Oidc,
  oidcEntries,
  ownPathsOf,
  settingsOf,
} from "./oidc_schema.ts";
import { parseDuration } from "../../../api/schema/duration.ts";

type Access = SecretAccess & { readonly readFile: ReadFile };
type SecretName = keyof typeof oidcEntries;

const names = ["clientSecret", "cookieSecret", "ca"] as const;

/** Returns the secret of the client; `undefined` for a public one. @throws {UnusableReferenceError} */
export function readClientSecret(
  config: Oidc,
  access: Access,
): string | undefined {
  const secret = readSecret("clientSecret", config, access)?.trim();
  if (secret === "") throw new TypeError("it is empty");
  return secret;
}

/** Returns the secrets that seal cookies; `undefined` for those of the process or its store. @throws {UnusableReferenceError} */
export function readCookieSecrets(
  config: Oidc,
  access: Access,
): VaultKeys | undefined {
  const text = readSecret("cookieSecret", config, access);
  return text === undefined ? undefined : parseVaultKeys(text);
}

/** Returns the CAs that are trusted, PEM; `undefined` for those of the system. @throws {UnusableReferenceError} */
export function readCas(
  config: Oidc,
  access: Access,
): readonly string[] | undefined {
  const text = readSecret("ca", config, access);
  if (text === undefined) return undefined;
  const pems = text.match(
    /-----BEGIN CERTIFICATE-----[^-]+-----END[^-]+-----/g,
  );
  if (pems === null) throw new TypeError("it has no certificate (PEM)");
  for (const pem of pems) assertCertificate(pem);
  return pems;
}

function assertCertificate(pem: string): void {
  try {
    new X509Certificate(pem);
  } catch {
    throw new TypeError("it has a certificate that cannot be read");
  }
}

function readSecret(
  name: SecretName,
  config: Oidc,
  { readFile, readSecret }: Access,
): string | undefined {
  const file = config[`${name}File` as const];
  const ref = config[`${name}Ref` as const];
  if (file !== undefined) return readFile(file);
  return ref === undefined ? config[name] : readSecret(ref, oidcEntries[name]);
}

/** Finds secrets that cannot be used, and paths and times that contradict each other. */
export function checkOidc(
  config: Oidc,
  readFile: ReadFile,
): readonly PolicyProblem[] {
  const problems = names.flatMap((name) => {
    if (config[`${name}Ref` as const] !== undefined) return [];
    const problem = problemOf(name, config, { readFile, ...noSecrets });
    const isFile = config[`${name}File` as const] !== undefined;
    return problem === undefined
      ? []
      : [{ path: [isFile ? `${name}File` : name], message: problem }];
  });
  return [...problems, ...checkPaths(config), ...checkTimes(config)];
}

/** Finds Secrets that cannot be used; the policy denies every request then. */
export function checkOidcRefs(
  config: Oidc,
  secrets: SecretAccess,
): readonly PolicyProblem[] {
  return names.flatMap((name) => {
    if (config[`${name}Ref` as const] === undefined) return [];
    const problem = problemOf(name, config, { readFile: noFiles, ...secrets });
    return problem === undefined
      ? []
      : [{ path: [`${name}Ref`], message: problem }];
  });
}

function checkPaths(config: Oidc): readonly PolicyProblem[] {
  const paths = Object.values(ownPathsOf(config));
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice === undefined) return [];
  const message =
    `Cannot tell callback, logout and back-channel logout apart: "${twice}" is the path of two`;
  return [{ path: ["logout"], message }];
}

function checkTimes(config: Oidc): readonly PolicyProblem[] {
  const { idleTimeout, absoluteTimeout } = settingsOf(config).session;
  return [["idleTimeout", idleTimeout], ["absoluteTimeout", absoluteTimeout]]
    .filter(([, value = ""]) => parseDuration(value) < MIN_TIMEOUT_MS)
    .map(([name = ""]) => ({
      path: ["session", name],
      message: "shorter than 10 seconds: nobody could stay logged in",
    }));
}

const MIN_TIMEOUT_MS = 10_000;

function problemOf(
  name: SecretName,
  config: Oidc,
  access: Access,
): string | undefined {
  return secretProblem(() => {
    switch (name) {
      case "clientSecret":
        return readClientSecret(config, access);
      case "cookieSecret":
        return readCookieSecrets(config, access);
      case "ca":
        return readCas(config, access);
    }
  }, name === "ca" ? "CAs" : "secret");
}
