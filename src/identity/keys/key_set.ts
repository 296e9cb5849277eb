import { describeError } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import { PublicKey } from "./public_key.ts";
import { showValues } from "../../base/log/log_text.ts";

/** Larger key sets are rejected. */
const MAX_KEYS = 100;

/** Longer key ids are not repeated in messages. */
const MAX_NAME_LENGTH = 64;
/** Reasons in an error message. */
const MAX_REASONS = 5;

/** Keys of an identity provider that can verify signatures; immutable. */
export interface KeySet {
  readonly keys: readonly PublicKey[];
  /** Unusable keys with the reason: `"k2": not for signatures`. */
  readonly ignored: readonly string[];
  /** Keys that the provider has withdrawn since the gateway uses it, the newest 20. */
  readonly withdrawn?: readonly PublicKey[];
}

/** Provides the keys of an identity provider. */
export interface KeySource {
  /**
   * Returns the current keys, without a promise when they are cached.
   * @throws {DocumentUnavailableError} When no keys are available (also as a rejection).
   */
  get(): KeySet | Promise<KeySet>;
  /**
   * Fetches newer keys because none in `than` has signed a token; returns `than` when there are none.
   * @param issuedBy When the token was issued at the latest, in milliseconds since the epoch: keys that were fetched later include
   * its key, if the provider has it at all.
   * @throws {DocumentCoolDownError} As a rejection, when the keys are older than the token and cannot be fetched yet.
   * @throws {DocumentUnavailableError} As a rejection, when the last fetch failed, so that the existence of newer keys is unknown.
   */
  newer(than: KeySet, issuedBy?: number): Promise<KeySet>;
}

/**
 * Parses a JWKS document (RFC 7517 section 5); ignores unusable keys individually.
 * @throws {TypeError} When the document is invalid or has no usable key.
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
  assertUsableKeys(usable.length, ignored);
  return { keys: usable, ignored };
}

/** Checks a JWKS document as far as possible synchronously. @throws {TypeError} See `readKeySet`. */
export function checkKeySet(text: string): void {
  const { keys, ignored } = sortMembers(text);
  assertUsableKeys(keys.length, ignored);
}

/** Parses the keys of a document; returns them with their names, and the reasons for ignored ones. */
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
        : `expected {"keys": […]}, got provider metadata; use its jwks_uri, ${
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

function assertUsableKeys(count: number, ignored: readonly string[]): void {
  if (count > 0) return;
  const reasons = ignored.length === 0
    ? "the set is empty"
    : ignored.slice(0, MAX_REASONS).join(", ");
  const more = ignored.length > MAX_REASONS
    ? ` and ${ignored.length - MAX_REASONS} more`
    : "";
  throw new TypeError(`no usable key: ${reasons}${more}`);
}

/**
 * Returns the keys that may have signed a token: those with its `kid`; without `kid`, the only key for the algorithm, or none.
 */
export function candidateKeys(
  { keys }: KeySet,
  kid: string | undefined,
  algorithm: string,
): readonly PublicKey[] {
  const suitable = keys.filter(({ algorithms }) =>
    algorithms.includes(algorithm)
  );
  if (kid !== undefined) return suitable.filter((key) => key.kid === kid);
  return suitable.length === 1 ? suitable : [];
}
