import { dirname, join } from "node:path";
import { isJsonObject } from "../../base/json.ts";
import { DeferredLists } from "../../base/slices.ts";
import { POLICY_API_GROUP } from "../../api/schema/group.ts";
import type { Environment } from "../yaml/substitute.ts";

/** Conventions of a file that are normalized for a `ResourceSet`. */
export interface Conventions {
  /** Directory that relative paths start at; `undefined` leaves paths unchanged. */
  readonly directory: string | undefined;
  /** The user's API group for the project's own kinds; `undefined` for the default. */
  readonly policyApiGroup: string | undefined;
  /** Receives the paths of files. */
  readonly files: Set<string>;
  /** Variables for `fromEnv` of credentials. */
  readonly environment: Environment;
  /** Receives the values of those that `fromEnv` names. */
  readonly used: Set<string>;
}

/** Returns the directory of a source; `undefined` for standard input and strings. */
export function directoryOf(sourceName: string): string | undefined {
  return sourceName.startsWith("<") ? undefined : dirname(sourceName);
}

/** Copies a document in steps, with file paths relative to the working directory and the default API group for the user's. */
export function* normalizeInSteps(
  value: unknown,
  conventions: Conventions,
): Generator<void, unknown> {
  const lists = new DeferredLists();
  const normalized = normalize(value, conventions, lists);
  yield* lists.run();
  return normalized;
}

function normalize(
  value: unknown,
  conventions: Conventions,
  lists: DeferredLists,
): unknown {
  if (Array.isArray(value)) {
    return lists.fill<unknown, unknown>(
      [],
      value,
      (item) => normalize(item, conventions, lists),
    );
  }
  if (typeof value !== "object" || value === null) return value;
  const isCertificate = Object.hasOwn(value, "cert");
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === "metadata") return [key, item];
      if (typeof item !== "string") {
        const read = secretFields.has(key)
          ? withKeyFromEnvironment(item, conventions)
          : item;
        return [key, normalize(read, conventions, lists)];
      }
      if (fileFields.has(key) || (key === "key" && isCertificate)) {
        return [key, resolveFile(item, conventions)];
      }
      return [
        key,
        isGroupField(key)
          ? replaceGroup(item, conventions.policyApiGroup)
          : item,
      ];
    }),
  );
}

/** Fields that name a file, which is relative to that of the configuration and applies when it changes. */
const fileFields: ReadonlySet<string> = new Set([
  "file",
  "caFile",
  "cert",
  "clientCa",
  "clientSecretFile",
  "cookieSecretFile",
  "privateKeyFile",
  "stateSecretFile",
]);

/** Fields whose `fromEnv` names a variable. */
const secretFields: ReadonlySet<string> = new Set([
  "credentials",
  "clientSecret",
  "privateKey",
]);

/** Adds the key that `fromEnv` names; the compiler reports a variable that is not set. */
function withKeyFromEnvironment(
  credentials: unknown,
  { environment, used }: Conventions,
): unknown {
  if (!isJsonObject(credentials) || Object.hasOwn(credentials, "key")) {
    return credentials;
  }
  const name = credentials["fromEnv"];
  const key = typeof name === "string" ? environment[name] : undefined;
  if (key === undefined || key === "") return credentials;
  used.add(key);
  return { ...credentials, key };
}

function isGroupField(key: string): boolean {
  return key === "group" || key === "apiVersion";
}

function replaceGroup(text: string, userGroup: string | undefined): string {
  if (userGroup === undefined) return text;
  if (text === userGroup) return POLICY_API_GROUP;
  return text.startsWith(`${userGroup}/`)
    ? POLICY_API_GROUP + text.slice(userGroup.length)
    : text;
}

function resolveFile(
  text: string,
  { directory, files }: Conventions,
): string {
  if (text === "" || isPem(text)) return text;
  const path = directory === undefined || text.startsWith("/")
    ? text
    : join(directory, text);
  files.add(path);
  return path;
}

function isPem(text: string): boolean {
  return text.includes("-----BEGIN ");
}
