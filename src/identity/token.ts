import { isDeeperThan, isJsonObject, type JsonObject } from "../base/json.ts";
import { signatureAlgorithms } from "./keys/public_key.ts";

/** Longer tokens are refused unread. */
const MAX_TOKEN_LENGTH = 16 * 1024;
const MAX_DEPTH = 32;

/**
 * A token that is not accepted. The message says which check failed and never has a value of the token, so that a client may see it;
 * the cause has the values that log and trace show besides, cut and escaped.
 */
export class TokenError extends Error {
  override readonly name = "TokenError";

  constructor(message: string, values?: string) {
    super(message, values === undefined ? undefined : { cause: values });
  }
}

/** A signed text that is read but not verified: nothing in it is true yet. */
export interface SignedText {
  readonly text: string;
  readonly algorithm: string;
  readonly kid: string | undefined;
  /** As base64url. */
  readonly payload: string;
}

/** A token that is read but not verified. */
export interface UnverifiedToken extends SignedText {
  readonly claims: JsonObject;
}

/** What only the provider can read (RFC 7516 section 7.1), as some issue where nobody asked for an audience. */
const encryptedForm = /^[\w-]+(?:\.[\w-]*){4}$/;
const compactForm = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Reads a signed text whose payload is a JSON object. @throws {TokenError} */
export function readToken(text: string): UnverifiedToken {
  const signed = readSignedText(text);
  return { ...signed, claims: readPart(signed.payload, "payload") };
}

/** Reads a signed text in compact form (RFC 7515 section 7.1). @throws {TokenError} */
export function readSignedText(text: string): SignedText {
  if (text.length > MAX_TOKEN_LENGTH) throw new TokenError("token is too long");
  if (!text.includes(".") || encryptedForm.test(text)) {
    throw new TokenError(
      "token is opaque, not a JWT; the client has to ask the provider for the audience of this server",
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
  if (signature === "") throw new TokenError("token has no signature");
  decodePart(signature, "signature");
  if (kid !== undefined && typeof kid !== "string") {
    throw new TokenError("token key id is not text");
  }
  return { text, algorithm: alg, kid, payload };
}

/** A key or an extension that the token itself brings along is never used; one that it insists on ends it. */
function checkHeader({ crit, b64, typ, cty }: JsonObject): void {
  if (crit !== undefined) {
    throw new TokenError("token header has extensions that are not supported");
  }
  if (b64 !== undefined) throw new TokenError("token payload is not encoded");
  if (typ !== undefined && !isAccessTokenType(typ)) {
    throw new TokenError("token type is not an access token");
  }
  if (typeof cty === "string" && /^jwt$/i.test(cty)) {
    throw new TokenError("nested tokens are not supported");
  }
}

/** RFC 9068 section 2.1, and what providers write. */
function isAccessTokenType(typ: unknown): boolean {
  return typeof typ === "string" &&
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
  if (!isJsonObject(value)) throw new TokenError(`token ${name} is no object`);
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw new TokenError(`token ${name} is nested too deeply`);
  }
  return value;
}

function decodePart(part: string, name: string): Uint8Array {
  try {
    // Strict: the unused bits at the end are zero, so that one token has one spelling.
    return Uint8Array.fromBase64(part + "=".repeat(-part.length & 3), {
      alphabet: "base64url",
      lastChunkHandling: "strict",
    });
  } catch {
    throw new TokenError(`token ${name} is not base64url`);
  }
}
