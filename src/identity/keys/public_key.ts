import { type JsonObject, stringMember } from "../../base/json.ts";
import {
  importKey,
  type PublicJwk,
  thumbprintOfKey,
  type VerificationKey,
} from "./jose.ts";
import { weaknessOf } from "./key_weakness.ts";

const rsaAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
const algorithmsOfCurve: ReadonlyMap<string, readonly string[]> = new Map([
  ["EC P-256", ["ES256"]],
  ["EC P-384", ["ES384"]],
  ["EC P-521", ["ES512"]],
  ["OKP Ed25519", ["EdDSA", "Ed25519"]],
]);

/** Signature algorithms that a token may use: asymmetric ones, never `none`. */
export const signatureAlgorithms: ReadonlySet<string> = new Set([
  ...rsaAlgorithms,
  ...[...algorithmsOfCurve.values()].flat(),
]);

/** One key of a key set. */
export class PublicKey {
  readonly kid: string | undefined;
  /** Algorithms that the key's type and `alg` allow. */
  readonly algorithms: readonly string[];
  readonly #jwk: PublicJwk;
  readonly #imported = new Map<string, Promise<VerificationKey>>();

  private constructor(
    kid: string | undefined,
    algorithms: readonly string[],
    jwk: PublicJwk,
  ) {
    this.kid = kid;
    this.algorithms = algorithms;
    this.#jwk = jwk;
  }

  /** Parses a member of `keys`. @throws {KeyError} When it cannot verify signatures. */
  static read(key: JsonObject): PublicKey {
    const reason = unusableReason(key);
    if (reason !== undefined) throw new KeyError(reason);
    const jwk = publicPart(key);
    const possible = algorithmsOf(jwk);
    const own = stringMember(key, "alg");
    const algorithms = own === undefined
      ? possible
      : possible.filter((algorithm) => algorithm === own);
    if (algorithms.length === 0) {
      throw new KeyError("algorithm does not match the key");
    }
    const weakness = weaknessOf(jwk);
    if (weakness !== undefined) throw new KeyError(weakness);
    return new PublicKey(stringMember(key, "kid"), algorithms, jwk);
  }

  /** Checks that the key can be imported. @throws {KeyError} */
  async probe(): Promise<void> {
    try {
      for (const algorithm of this.algorithms.slice(0, 1)) {
        await this.forAlgorithm(algorithm);
      }
    } catch (cause) {
      throw new KeyError("not a valid key", { cause });
    }
  }

  /** Returns the thumbprint of the key (RFC 7638). */
  thumbprint(): Promise<string> {
    return thumbprintOfKey(this.#jwk);
  }

  /** Imports the key for one of its algorithms. */
  forAlgorithm(algorithm: string): Promise<VerificationKey> {
    const known = this.#imported.get(algorithm);
    if (known !== undefined) return known;
    const imported = importKey(this.#jwk, algorithm);
    this.#imported.set(algorithm, imported);
    return imported;
  }
}

/** A key that cannot be used. */
class KeyError extends Error {
  override readonly name = "KeyError";
}

function unusableReason(key: JsonObject): string | undefined {
  const { use, key_ops: operations, kid } = key;
  if (use !== undefined && use !== "sig") return "not for signatures";
  if (
    operations !== undefined &&
    !(Array.isArray(operations) && operations.includes("verify"))
  ) return "not for verifying";
  if (kid !== undefined && typeof kid !== "string") {
    return "kid is not a string";
  }
  // Everybody can sign with a published private key.
  if (key.d !== undefined) return "private key";
  return undefined;
}

function publicPart(key: JsonObject): PublicJwk {
  const member = (name: string) => {
    const value = stringMember(key, name);
    if (value === undefined) throw new KeyError(`"${name}" is missing`);
    return value;
  };
  switch (key.kty) {
    case "RSA":
      return { kty: "RSA", n: member("n"), e: member("e") };
    case "EC":
      return { kty: "EC", crv: member("crv"), x: member("x"), y: member("y") };
    case "OKP":
      return { kty: "OKP", crv: member("crv"), x: member("x") };
    default:
      throw new KeyError("key type is not supported");
  }
}

function algorithmsOf({ kty, crv }: PublicJwk): readonly string[] {
  return kty === "RSA"
    ? rsaAlgorithms
    : algorithmsOfCurve.get(`${kty} ${crv}`) ?? [];
}
