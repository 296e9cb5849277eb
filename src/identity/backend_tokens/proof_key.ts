import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import { setNewest } from "../../base/kept_values.ts";
import { type Challenge, parameterOf } from "../../http/challenges.ts";

/** A request that a proof is for. */
export interface RequestToProve {
  readonly method: string;
  /** As it is sent; query and fragment do not count. */
  readonly url: string;
  /** The access token; `undefined` at the authorization server. */
  readonly token?: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Algorithm of proofs, as metadata of servers name it. */
export const PROOF_ALGORITHM = "ES256";
const curve = { name: "ECDSA", namedCurve: "P-256" } as const;
const signature = { name: "ECDSA", hash: "SHA-256" } as const;
/** An authorization server and the endpoints of a service. */
const MAX_NONCES = 16;
const MAX_NONCE_LENGTH = 1024;

/**
 * The key that a token is bound to, with which the gateway proves that it may use the token (DPoP, RFC 9449). Each account of a user,
 * and each token of the gateway, has one of its own.
 */
export class ProofKey {
  readonly #jwk: JsonObject;
  readonly #public: JsonObject;
  #imported: Promise<CryptoKey> | undefined;
  /** Nonces that servers want to see next. */
  readonly #nonces = new Map<string, string>();

  private constructor(jwk: JsonObject) {
    const { kty = null, crv = null, x = null, y = null } = jwk;
    this.#jwk = jwk;
    this.#public = { kty, crv, x, y };
  }

  /** Creates a new key. */
  static async generate(): Promise<ProofKey> {
    const pair = await crypto.subtle.generateKey(curve, true, [
      "sign",
      "verify",
    ]);
    const { kty, crv, x, y, d } = await crypto.subtle.exportKey(
      "jwk",
      pair.privateKey,
    );
    return ProofKey.read({ kty, crv, x, y, d });
  }

  /** Reads a key of the vault. @throws {TypeError} When it is none. */
  static read(value: unknown): ProofKey {
    if (isJsonObject(value)) {
      const names = ["kty", "crv", "x", "y", "d"];
      const members = names.map((name) => stringMember(value, name));
      if (!members.includes(undefined)) return new ProofKey(value);
    }
    throw new TypeError("Cannot read the key of a token");
  }

  /** Returns the private key, for the vault. */
  write(): JsonObject {
    return this.#jwk;
  }

  /** SHA-256 thumbprint of the public key (RFC 7638), as base64url. */
  get thumbprint(): string {
    const { crv, kty, x, y } = this.#public;
    return digest(JSON.stringify({ crv, kty, x, y }));
  }

  /** Returns a proof for one attempt of a request (RFC 9449 section 4.2), with the nonce that its server wants. */
  async prove(
    { method, url, token, now }: RequestToProve,
  ): Promise<string> {
    const nonce = this.#nonces.get(placeOf(url, token));
    const head = { typ: "dpop+jwt", alg: PROOF_ALGORITHM, jwk: this.#public };
    const claims = {
      jti: crypto.randomUUID(),
      htm: method,
      htu: url.replace(/[?#].*$/s, ""),
      iat: Math.floor(now / 1000),
      ...(token !== undefined && { ath: digest(token) }),
      ...(nonce !== undefined && { nonce }),
    };
    const text = `${encode(head)}.${encode(claims)}`;
    const bytes = await crypto.subtle.sign(
      signature,
      await this.#key(),
      Buffer.from(text),
    );
    return `${text}.${Buffer.from(bytes).toString("base64url")}`;
  }

  /** Keeps the nonce of a response, of any status, for the next proof (RFC 9449 sections 8 and 9). @param nonce `DPoP-Nonce`. */
  learn(
    { url, token }: Pick<RequestToProve, "url" | "token">,
    nonce: string | undefined,
  ): void {
    if (nonce === undefined || nonce === "") return;
    if (nonce.length > MAX_NONCE_LENGTH) return;
    setNewest(this.#nonces, placeOf(url, token), nonce, MAX_NONCES);
  }

  #key(): Promise<CryptoKey> {
    return this.#imported ??= crypto.subtle.importKey(
      "jwk",
      this.#jwk,
      curve,
      false,
      ["sign"],
    );
  }
}

/** Reports whether challenges accept only tokens with proofs (RFC 9449 section 7.1). */
export function wantsProof(challenges: readonly Challenge[]): boolean {
  const schemes = challenges.map(({ scheme }) => scheme);
  return schemes.includes("dpop") && !schemes.includes("bearer");
}

/** Reports whether challenges reject a proof, but not its token, for it lacks the nonce of the response (RFC 9449 section 9). */
export function wantsNonce(challenges: readonly Challenge[]): boolean {
  return parameterOf(challenges, "error") === "use_dpop_nonce";
}

/** Nonces belong to an origin; those of its authorization server are not those of its services. */
function placeOf(url: string, token: string | undefined): string {
  return `${token === undefined ? "tokens" : "service"} ${new URL(url).origin}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function encode(part: JsonObject): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}
