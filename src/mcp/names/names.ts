import { createHash } from "node:crypto";

/** Model providers allow so many characters. */
const MAX_NAME = 64;
const HASH_LENGTH = 8;

/**
 * Returns the name by which clients know a tool or prompt: letters, digits, `_` and `-`, at most 64. It depends on nothing but the
 * prefix and the server's name, so that rules and prompts go on to mean the same. A name that is too long or has other characters
 * ends in a hash of the whole.
 * @param prefix Has no `_`; empty for none.
 */
export function exposedName(prefix: string, name: string): string {
  const full = prefix === "" ? name : `${prefix}_${name}`;
  if (full.length <= MAX_NAME && /^[A-Za-z0-9_-]+$/.test(full)) return full;
  const hash = createHash("sha256").update(full).digest("hex")
    .slice(0, HASH_LENGTH);
  const readable = full.replace(/[^A-Za-z0-9_-]/gu, "_")
    .slice(0, MAX_NAME - HASH_LENGTH - 1);
  return `${readable}_${hash}`;
}

/** Returns the server's name of a tool or prompt; `undefined` if it does not follow from the exposed name alone, or has another prefix. */
export function originalName(
  prefix: string,
  exposed: string,
): string | undefined {
  if (mayBeHashed(exposed) || !hasPrefix(prefix, exposed)) return undefined;
  return prefix === "" ? exposed : exposed.slice(prefix.length + 1);
}

/** Reports whether a name has a prefix. */
export function hasPrefix(prefix: string, exposed: string): boolean {
  return prefix === "" ||
    exposed[prefix.length] === "_" && exposed.startsWith(prefix);
}

function mayBeHashed(exposed: string): boolean {
  return /_[0-9a-f]{8}$/.test(exposed) || exposed.length > MAX_NAME ||
    !/^[A-Za-z0-9_-]+$/.test(exposed);
}

/** Returns what look-alikes have in common: names that differ only in case, or in `-` and `_`. */
export function foldName(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}

/**
 * Returns the URI, or the template of URIs, by which clients know a resource: `docs+file:///a`, and `ui://docs+a` for pages of MCP
 * Apps, whose scheme clients look for. Expressions of a template (RFC 6570) stay as they are.
 * @param prefix Has no `+`; empty for none.
 */
export function exposedUri(prefix: string, uri: string): string {
  if (prefix === "") return uri;
  return uri.startsWith(APP_SCHEME)
    ? `${APP_SCHEME}${prefix}+${uri.slice(APP_SCHEME.length)}`
    : `${prefix}+${uri}`;
}

/** Returns the server's URI; `undefined` if the URI has another prefix. */
export function originalUri(prefix: string, uri: string): string | undefined {
  if (prefix === "") return uri;
  const scheme = uri.startsWith(APP_SCHEME) ? APP_SCHEME : "";
  const start = `${scheme}${prefix}+`;
  return uri.startsWith(start) ? scheme + uri.slice(start.length) : undefined;
}

const APP_SCHEME = "ui://";

/** Reports whether a URI may have been made of a template: the parts between the expressions occur in their order. */
export function matchesTemplate(template: string, uri: string): boolean {
  const parts = template.split(/\{[^{}]*\}/);
  const [first = "", ...others] = parts;
  if (others.length === 0) return uri === first;
  if (!uri.startsWith(first)) return false;
  let at = first.length;
  for (const part of others.slice(0, -1)) {
    const next = uri.indexOf(part, at);
    if (next < 0) return false;
    at = next + part.length;
  }
  const last = others.at(-1) ?? "";
  return uri.length - last.length >= at && uri.endsWith(last);
}
