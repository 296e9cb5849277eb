import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";

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

/** Hashes of OpenBSD's bcrypt, which are slow to compute on purpose. */

/** Highest accepted cost: about 50 ms, during which nothing else runs. */
const MAX_BCRYPT_COST = 10;

const bcryptHash = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** Returns the cost of a hash such as `$2y$05$…`; `undefined` if it is not a bcrypt hash. */
function bcryptCost(hash: string): number | undefined {
  const cost = bcryptHash.exec(hash)?.[1];
  return cost === undefined ? undefined : Number(cost);
}

/** Reports whether the password matches the hash. Passwords over 72 bytes never match: bcrypt ignores the rest. */
async function matchesBcrypt(
  password: string,
  hash: string,
): Promise<boolean> {
  // Loaded for the first password: most gateways check none, so it must not slow down the start.
  const { compare, truncates } = await import("bcryptjs");
  return !truncates(password) && await compare(password, hash);
}
