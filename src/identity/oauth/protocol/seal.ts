import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { Seal as BaseSeal } from "../../../base/sealed_values.ts";

/** Purpose of a sealed value, which cannot be opened for another one. */
export type SealPurpose =
  | "access"
  | "client"
  | "code"
  | "consent"
  | "login"
  | "refresh";

/** Seals the state of logins. */
export class Seal extends BaseSeal<SealPurpose> {
  /** @param secrets At least one, with at least 32 characters each; the first one seals, all of them open. */
  constructor(secrets: readonly [string, ...string[]]) {
    super("gateway oauth seal", secrets);
  }
}

/** Returns the SHA-256 of a string as base64url, such as the S256 challenge of a PKCE verifier (RFC 7636 section 4.2). */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** Returns 256 random bits as base64url: 43 characters. */
export function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32)))
    .toString("base64url");
}
