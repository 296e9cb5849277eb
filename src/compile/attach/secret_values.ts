import type { SecretRef } from "../../api/resources/policy_references.ts";
import type { Lookups } from "./lookups.ts";
import type { Referrer } from "../resolve/reference_grants.ts";

/**
 * Returns an entry of a Secret as text. @param entry Default of `key`.
 * @throws {TypeError} When the Secret does not exist, has no such entry, or may not be referred to.
 */
export function readSecretValue(
  from: Referrer,
  { name, namespace = from.namespace, key, entry }: SecretRef & {
    readonly entry: string;
  },
  lookups: Pick<Lookups, "isAllowed" | "secret">,
): string {
  const path = `${namespace}/${name}`;
  const to = { group: "", kind: "Secret", namespace, name };
  if (!lookups.isAllowed(from, to)) {
    throw new TypeError(
      `no ReferenceGrant of namespace "${namespace}" allows Secret "${path}"`,
    );
  }
  const secret = lookups.secret(path);
  if (secret === undefined) throw new TypeError(`Secret "${path}" not found`);
  const { data = {}, stringData = {} } = secret;
  const wanted = key ?? entry;
  const encoded = ownValue(data, wanted);
  const value = encoded === undefined
    ? ownValue(stringData, wanted)
    : decode(encoded);
  if (value !== undefined) return value;
  throw new TypeError(
    encoded === undefined
      ? `Secret "${path}" has no entry "${wanted}"`
      : `entry "${wanted}" of Secret "${path}" is not base64 of UTF-8 text`,
  );
}

function ownValue(
  values: Readonly<Record<string, string>>,
  name: string,
): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function decode(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.fromBase64(base64);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
