import { createHash, timingSafeEqual } from "node:crypto";
import { isAdminToken } from "../../src/api/admin_token.ts";
import type { Settings } from "../../src/api/settings.ts";
import type { Log } from "../../src/base/log/log.ts";
import {
  describeReadError,
  readFileText,
} from "../../src/base/regular_file.ts";
import { text } from "../http/admin_responses.ts";
import { setCaller } from "./admin_caller.ts";
import type { FailedAttempts } from "./failed_attempts.ts";
import type { PeerHandler } from "../http/router.ts";

/** The token file contains no valid token. */
export class AdminTokenError extends Error {
  override readonly name = "AdminTokenError";

  constructor(path: string, reason: string) {
    super(`Cannot use config.adminTokenFile "${path}": ${reason}`);
  }
}

/** Reports whether the admin interface requires a token or a login. */
export function isProtected(settings: Settings): boolean {
  return hasToken(settings) || settings.adminLogin !== undefined;
}

/** Reports whether the admin interface has a token. */
export function hasToken({ adminToken, adminTokenFile }: Settings): boolean {
  return adminToken !== undefined || adminTokenFile !== undefined;
}

/**
 * Reads the token of the admin interface; returns `undefined` when none is required.
 * @throws {AdminTokenError} When the file is missing or contains no valid token.
 */
export async function readAdminToken(
  { adminToken, adminTokenFile }: Settings,
): Promise<string | undefined> {
  if (adminTokenFile === undefined) return adminToken;
  let content: string;
  try {
    content = await readFileText(adminTokenFile);
  } catch (error) {
    throw new AdminTokenError(adminTokenFile, describeReadError(error));
  }
  const token = content.replace(/\r?\n$/, "");
  if (isAdminToken(token)) return token;
  throw new AdminTokenError(
    adminTokenFile,
    "expected one line of at least 16 characters: letters, digits, - . _ ~ + / and = at the end",
  );
}

/** Reason of a rejected request, for metrics. */
export type TokenRejection = "missing_token" | "invalid_token" | "throttled";

/** Dependencies of `withToken`. */
export interface TokenOptions {
  readonly token: string;
  readonly attempts: FailedAttempts;
  readonly log: Log;
  /** Counts a rejected request. */
  readonly count: (reason: TokenRejection) => void;
}

/**
 * Passes requests with the token to `next`; returns 401 for all others (RFC 6750 section 3), and 429 without a look at the token
 * where too many were wrong.
 */
export function withToken(
  { token, attempts, log, count }: TokenOptions,
  next: PeerHandler,
): PeerHandler {
  const expected = digest(token);
  const challenge = 'Bearer realm="gateway admin"';
  return (request, peer) => {
    const [, given] =
      /^bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    if (given === undefined) {
      count("missing_token");
      return unauthorized("a bearer token is required", challenge);
    }
    const waitMs = attempts.waitMs(peer);
    if (waitMs > 0) {
      count("throttled");
      return tooMany(Math.ceil(waitMs / 1000));
    }
    // Digests have equal lengths, so that the comparison takes constant time.
    if (timingSafeEqual(digest(given), expected)) {
      attempts.succeeded(peer);
      setCaller(request, { access: "token", role: "admin" });
      return next(request, peer);
    }
    count("invalid_token");
    const { failures, skipped } = attempts.failed(peer);
    log.warn("Invalid admin token", { address: peer, failures, skipped });
    return unauthorized(
      "invalid bearer token",
      `${challenge}, error="invalid_token"`,
    );
  };
}

function tooMany(seconds: number): Response {
  return text(
    429,
    `too many invalid tokens: retry after ${seconds} seconds`,
    { "retry-after": String(seconds) },
  );
}

function unauthorized(reason: string, challenge: string): Response {
  return text(401, `unauthorized: ${reason}`, {
    "www-authenticate": challenge,
  });
}

function digest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}
