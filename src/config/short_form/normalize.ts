import { dirname, join } from "node:path";
import { POLICY_API_GROUP } from "../../api/resources/group.ts";

/** How a file's own conventions are turned into those of a `ResourceSet`. */
export interface Conventions {
  /** Folder that relative paths start from; `undefined` leaves them alone. */
  readonly folder: string | undefined;
  /** Group that the user gave our own kinds; `undefined` when it is the usual one. */
  readonly policyApiGroup: string | undefined;
}

/** Folder of a named source; `undefined` for standard input and other texts without a place. */
export function folderOf(sourceName: string): string | undefined {
  return sourceName.startsWith("<") ? undefined : dirname(sourceName);
}

/**
 * `value` with paths of files made relative to the working folder and the user's API group replaced by ours.
 * The paths found are added to `files`.
 */
export function normalise(
  value: unknown,
  conventions: Conventions,
  files: Set<string>,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => normalise(item, conventions, files));
  }
  if (typeof value !== "object" || value === null) return value;
  const isCertificate = Object.hasOwn(value, "cert");
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === "metadata") return [key, item];
      if (typeof item !== "string") {
        return [key, normalise(item, conventions, files)];
      }
      if (
        key === "file" || key === "cert" || key === "clientCa" ||
        (key === "key" && isCertificate)
      ) {
        return [key, placeFile(item, conventions.folder, files)];
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

function placeFile(
  text: string,
  folder: string | undefined,
  files: Set<string>,
): string {
  if (text === "" || isPem(text)) return text;
  const path = folder === undefined || text.startsWith("/")
    ? text
    : join(folder, text);
  files.add(path);
  return path;
}

function isPem(text: string): boolean {
  return text.includes("-----BEGIN ");
}
