import { createHash } from "node:crypto";
import type { SourceNode } from "./source_node.ts";

/** Returns a key that clients send: its hash, unless it is a reference to the environment. */
export function importClientKey(
  text: string | undefined,
): { readonly key?: string; readonly keyHash?: string } {
  if (text === undefined) return {};
  return isReference(text)
    ? { key: text }
    : { keyHash: `sha256:${digestOf(text)}` };
}

/** Returns the credentials of a key for a backend: a reference to the environment, in place of a key that is written in the file. */
export function importBackendKey(
  text: string,
  owner: string,
  source: SourceNode,
  what: "key" | "secret" = "key",
): { readonly key: string } | { readonly fromEnv: string } {
  return isReference(text)
    ? { key: text }
    : { fromEnv: variableFor(text, `${owner} ${what}`, source) };
}

/** Returns a secret of a policy: a reference to the environment, in place of one that is written in the file. */
export function importSecret(
  source: SourceNode | undefined,
  owner: string,
): string | undefined {
  const text = source?.text();
  if (source === undefined || text === undefined) return undefined;
  return isReference(text)
    ? text
    : `\${${variableFor(text, `${owner} secret`, source)}}`;
}

function variableFor(
  text: string,
  words: string,
  source: SourceNode,
): string {
  // Several secrets of an owner have a variable each.
  const name = `${words.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}_${
    digestOf(text).slice(0, 4).toUpperCase()
  }`;
  const [what] = words.split(" ").slice(-1);
  source.note(
    `${what}: it is not copied; set the environment variable ${name} to it`,
  );
  return name;
}

function isReference(text: string): boolean {
  return /\$\{[A-Za-z_]\w*\}/.test(text);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
