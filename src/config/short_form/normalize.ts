import { dirname, join } from "node:path";
import { POLICY_API_GROUP } from "../../api/resources/group.ts";

/** Conventions of a file that are normalized for a `ResourceSet`. */
export interface Conventions {
  /** Directory that relative paths start at; `undefined` leaves paths unchanged. */
  readonly directory: string | undefined;
  /** The user's API group for the project's own kinds; `undefined` for the default. */
  readonly policyApiGroup: string | undefined;
}

/** Returns the directory of a source; `undefined` for standard input and strings. */
export function directoryOf(sourceName: string): string | undefined {
  return sourceName.startsWith("<") ? undefined : dirname(sourceName);
}

/**
 * Makes file paths in `value` relative to the working directory and replaces the user's API group by the default one.
 * Adds the paths to `files`.
 */
export function normalize(
  value: unknown,
  conventions: Conventions,
  files: Set<string>,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => normalize(item, conventions, files));
  }
  if (typeof value !== "object" || value === null) return value;
  const isCertificate = Object.hasOwn(value, "cert");
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === "metadata") return [key, item];
      if (typeof item !== "string") {
        return [key, normalize(item, conventions, files)];
      }
      if (
        key === "file" || key === "cert" || key === "clientCa" ||
        (key === "key" && isCertificate)
      ) {
        return [key, resolveFile(item, conventions.directory, files)];
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
  directory: string | undefined,
  files: Set<string>,
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
