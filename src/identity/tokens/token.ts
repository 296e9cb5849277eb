import {
  isDeeperThan,
  isJsonObject,
  type JsonObject,
} from "../../base/json.ts";
import { signatureAlgorithms } from "../keys/public_key.ts";

/** Longer tokens are rejected without parsing. */
const MAX_TOKEN_LENGTH = 16 * 1024;
const MAX_DEPTH = 32;

/**
 * A rejected token. The message names the failed check and contains no value of the token, so it is safe to send to clients;
 * the cause contains values for log and trace, truncated and escaped.
 */
export class TokenError extends Error {
  override readonly name = "TokenError";

  constructor(message: string, values?: string) {
    super(message, values === undefined ? undefined : { cause: values });
  }
}

/** A parsed JWS whose signature is not verified yet: its content is untrusted. */
export interface ParsedJws {
  readonly text: string;
  readonly algorithm: string;
  readonly kid: string | undefined;
  readonly header: JsonObject;
  /** Encoded as base64url. */
  readonly payload: string;
}

/** A parsed token that is not verified yet. */
export interface UnverifiedToken extends ParsedJws {
  readonly claims: JsonObject;
}

/** Encrypted tokens (RFC 7516 section 7.1), which only the provider can read; some providers issue them for requests without audience. */
const encryptedForm = /^[\w-]+(?:\.[\w-]*){4}$/;
const compactForm = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Tokens that fit into a header field (RFC 6750 section 2.1). */
const tokenForm = /^[\w.~+/-]+=*$/;

/**
 * Reports whether a token is no JWT, so that only its authorization server knows what it says.
 * @throws {TokenError} When it is no token at all.
 */
export function isOpaque(text: string): boolean {
  if (text.length > MAX_TOKEN_LENGTH) throw new TokenError("token is too long");
  if (!tokenForm.test(text)) throw new TokenError("token is malformed");
  if (!compactForm.test(text)) return true;
  try {
    readPart(text.slice(0, text.indexOf(".")), "header");
    return false;
  } catch {
    return true;
  }
}

/**
 * Parses a token: a JWS whose payload is a JSON object.
 * @param isType Accepts its `typ`; default: access tokens.
 * @throws {TokenError}
 */
export function parseToken(
  text: string,
  isType: (typ: unknown) => boolean = isAccessTokenType,
): UnverifiedToken {
  const signed = parseJws(text, isType);
  return { ...signed, claims: readPart(signed.payload, "payload") };
}

/** Parses a JWS in compact form (RFC 7515 section 7.1). @throws {TokenError} */
export function parseJws(
  text: string,
  isType: (typ: unknown) => boolean = isAccessTokenType,
): ParsedJws {
  if (text.length > MAX_TOKEN_LENGTH) throw new TokenError("token is too long");
  if (!text.includes(".") || encryptedForm.test(text)) {
    throw new TokenError(
      "token is opaque, not a JWT; the client must request a token for the audience of this server",
    );
  }
  if (!compactForm.test(text)) throw new TokenError("token is malformed");
  const [head = "", payload = "", signature = ""] = text.split(".");
  const header = readPart(head, "header");
  const { alg, kid } = header;
  if (typeof alg !== "string" || !signatureAlgorithms.has(alg)) {
    throw new TokenError("token algorithm is not allowed");
  }
  checkHeader(header);
  if (!isType(header.typ)) {
    throw new TokenError("token type is not an access token");
  }
  if (signature === "") throw new TokenError("token has no signature");
  decodePart(signature, "signature");
  if (kid !== undefined && typeof kid !== "string") {
    throw new TokenError("token key id is not a string");
  }
  return { text, algorithm: alg, kid, header, payload };
}

/** Rejects critical extensions and nested tokens. Keys in the header are ignored. */
function checkHeader({ crit, b64, cty }: JsonObject): void {
  if (crit !== undefined) {
    throw new TokenError("token header has extensions that are not supported");
  }
  if (b64 !== undefined) throw new TokenError("token payload is not encoded");
  if (typeof cty === "string" && /^jwt$/i.test(cty)) {
    throw new TokenError("nested tokens are not supported");
  }
}

/** Accepts the types of RFC 9068 section 2.1, those in common use, and none. */
function isAccessTokenType(typ: unknown): boolean {
  return typ === undefined || typeof typ === "string" &&
      /^(?:application\/)?(?:at\+jwt|jwt)$/i.test(typ);
}

function readPart(part: string, name: string): JsonObject {
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(decodePart(part, name));
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof TokenError) throw error;
    throw new TokenError(`token ${name} is not JSON`);
  }
  if (!isJsonObject(value)) {
    throw new TokenError(`token ${name} is not an object`);
  }
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw new TokenError(`token ${name} is nested too deeply`);
  }
  return value;
}

function decodePart(part: string, name: string): Uint8Array {
  try {
    // Strict: unused trailing bits must be zero, so that each token has one encoding.
    return Uint8Array.fromBase64(part + "=".repeat(-part.length & 3), {
      alphabet: "base64url",
      lastChunkHandling: "strict",
    });
  } catch {
    throw new TokenError(`token ${name} is not base64url`);
  }
}
