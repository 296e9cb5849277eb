import { describeError } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import { PublicKey } from "./public_key.ts";
import { showValues } from "../shown_values.ts";

/** More is no key set of an identity provider. */
export const MAX_KEYS = 100;

/** Longer key ids are not repeated in messages. */
const MAX_NAME_LENGTH = 64;
/** So many reasons why keys are left out are enough. */
const MAX_REASONS = 5;

/** The keys of an identity provider that can verify signatures; never changes. */
export interface KeySet {
  readonly keys: readonly PublicKey[];
  /** Those that were left out, such as `"k2": not for signatures`. */
  readonly ignored: readonly string[];
}

/**
 * Reads a JWKS document (RFC 7517 section 5); keys that cannot be used are left out one by one.
 * @throws {TypeError} When it is no such document or nothing in it can be used.
 */
export async function readKeySet(text: string): Promise<KeySet> {
  const { keys, ignored } = sortMembers(text);
  const usable: PublicKey[] = [];
  for (const [name, key] of keys) {
    try {
      await key.probe();
      usable.push(key);
    } catch (error) {
      ignored.push(`${name}: ${describeError(error)}`);
    }
  }
  expectKeys(usable.length, ignored);
  return { keys: usable, ignored };
}

/** What can be told of a JWKS document at once. @throws {TypeError} As `readKeySet`. */
export function checkKeySet(text: string): void {
  const { keys, ignored } = sortMembers(text);
  expectKeys(keys.length, ignored);
}

/** The keys of a document by name, and why others are none. */
function sortMembers(text: string) {
  const keys: [string, PublicKey][] = [];
  const ignored: string[] = [];
  for (const [index, member] of membersOf(text).entries()) {
    const key: JsonObject = isJsonObject(member) ? member : {};
    const kid = stringMember(key, "kid");
    const name = kid !== undefined && kid.length <= MAX_NAME_LENGTH
      ? JSON.stringify(kid)
      : String(index);
    try {
      keys.push([name, PublicKey.read(key)]);
    } catch (error) {
      ignored.push(`${name}: ${describeError(error)}`);
    }
  }
  return { keys, ignored };
}

function membersOf(text: string): readonly unknown[] {
  const document = parseJson(text);
  if (document === undefined) throw new TypeError("the key set is not JSON");
  if (!isJsonObject(document) || !Array.isArray(document.keys)) {
    const uri = isJsonObject(document)
      ? stringMember(document, "jwks_uri")
      : undefined;
    throw new TypeError(
      uri === undefined
        ? 'expected {"keys": […]}'
        : `expected {"keys": […]}, got the metadata of the provider; use its jwks_uri, ${
          showValues([uri])
        }`,
    );
  }
  if (document.keys.length > MAX_KEYS) {
    throw new TypeError(
      `expected at most ${MAX_KEYS} keys, got ${document.keys.length}`,
    );
  }
  return document.keys;
}

function expectKeys(count: number, ignored: readonly string[]): void {
  if (count > 0) return;
  const reasons = ignored.length === 0
    ? "the set is empty"
    : ignored.slice(0, MAX_REASONS).join(", ");
  const more = ignored.length > MAX_REASONS
    ? ` and ${ignored.length - MAX_REASONS} more`
    : "";
  throw new TypeError(`no key can be used: ${reasons}${more}`);
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
