import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { bcryptCost, matchesBcrypt, MAX_BCRYPT_COST } from "./bcrypt.ts";

/** Checks the password of a user. */
export interface PasswordCheck {
  /** True if the check is slow, so that its result should be cached. */
  readonly isSlow: boolean;
  matches(password: string): boolean | Promise<boolean>;
}

/** One line of a password file: a user, or the fault of an invalid line, without the hash. */
export type HtpasswdLine =
  | { readonly username: string; readonly check: PasswordCheck }
  | { readonly fault: string };

/** Reads a line such as `anna:$2y$05$…` or `anna:{SHA}…` (Apache's `htpasswd -B` and `-s`). */
export function readHtpasswdLine(line: string): HtpasswdLine {
  const colon = line.indexOf(":");
  if (colon < 1) return { fault: 'expected "name:hash"' };
  const username = line.slice(0, colon);
  // Further fields are comments.
  const hash = line.slice(colon + 1).split(":")[0]?.trim() ?? "";
  const check = checkOf(hash);
  return "fault" in check
    ? { fault: `user ${JSON.stringify(username)} ${check.fault}` }
    : { username, check };
}

/** Returns the lines of a password file, without blank lines and comments. */
export function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/).map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

function checkOf(hash: string): PasswordCheck | { readonly fault: string } {
  const cost = bcryptCost(hash);
  if (cost !== undefined) return bcryptCheck(hash, cost);
  const digest = /^\{SHA\}([A-Za-z0-9+/]{27}=)$/.exec(hash)?.[1];
  if (digest !== undefined) return sha1Check(Buffer.from(digest, "base64"));
  return {
    fault:
      'has a password that is not hashed with bcrypt or SHA-1; hash it with "htpasswd -B"',
  };
}

function bcryptCheck(
  hash: string,
  cost: number,
): PasswordCheck | { readonly fault: string } {
  if (cost < 4 || cost > MAX_BCRYPT_COST) {
    return {
      fault:
        `has a bcrypt hash of cost ${cost}; expected 4 to ${MAX_BCRYPT_COST}, as of "htpasswd -B -C ${MAX_BCRYPT_COST}"`,
    };
  }
  return {
    isSlow: true,
    matches: (password) => matchesBcrypt(password, hash),
  };
}

function sha1Check(digest: Uint8Array): PasswordCheck {
  return {
    isSlow: false,
    matches: (password) =>
      timingSafeEqual(createHash("sha1").update(password).digest(), digest),
  };
}
