import { describeError } from "../base/errors.ts";
import { isJsonObject, type JsonObject, stringMember } from "./json.ts";
import { PublicKey } from "./public_key.ts";

/** More is no key set of an identity provider. */
export const maxKeys = 100;

/** The keys of an identity provider that can verify signatures; never changes. */
export interface KeySet {
  readonly keys: readonly PublicKey[];
  /** Those that were left out, such as `"k2": not for signatures`. */
  readonly ignored: readonly string[];
}

/** The members of a JWKS document (RFC 7517 section 5). @throws {TypeError} When it is none. */
export function parseJwks(text: string): readonly unknown[] {
  const document: unknown = JSON.parse(text);
  if (!isJsonObject(document) || !Array.isArray(document.keys)) {
    throw new TypeError('Cannot read key set: expected {"keys": […]}');
  }
  if (document.keys.length > maxKeys) {
    throw new TypeError(
      `Cannot read key set: expected at most ${maxKeys} keys, got ${document.keys.length}`,
    );
  }
  return document.keys;
}

/**
 * Reads a JWKS document; keys that cannot be used are left out one by one.
 * @throws {TypeError} When it is no such document or nothing in it can be used.
 */
export async function readKeySet(text: string): Promise<KeySet> {
  const keys: PublicKey[] = [];
  const ignored: string[] = [];
  for (const [index, member] of parseJwks(text).entries()) {
    try {
      keys.push(await readKey(member));
    } catch (error) {
      const kid = isJsonObject(member)
        ? stringMember(member, "kid")
        : undefined;
      ignored.push(`${JSON.stringify(kid ?? index)}: ${describeError(error)}`);
    }
  }
  if (keys.length === 0) {
    const reasons = ignored.length === 0 ? "it is empty" : ignored.join(", ");
    throw new TypeError(`Cannot use key set: ${reasons}`);
  }
  return { keys, ignored };
}

/**
 * The keys that may have signed a token: those of its `kid`; without `kid` the only one that fits, or none.
 */
export function candidateKeys(
  { keys }: KeySet,
  kid: string | undefined,
  algorithm: string,
): readonly PublicKey[] {
  const fitting = keys.filter(({ algorithms }) =>
    algorithms.includes(algorithm)
  );
  if (kid !== undefined) return fitting.filter((key) => key.kid === kid);
  return fitting.length === 1 ? fitting : [];
}

function readKey(member: unknown): Promise<PublicKey> {
  const key: JsonObject = isJsonObject(member) ? member : {};
  return PublicKey.read(key);
}
