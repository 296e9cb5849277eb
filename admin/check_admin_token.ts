import { createHash, timingSafeEqual } from "node:crypto";
import { isAdminToken } from "../src/api/admin_token.ts";
import type { Settings } from "../src/api/settings.ts";
import { describeReadError, readFileText } from "../src/base/regular_file.ts";
import { text } from "./admin_responses.ts";
import type { Handler } from "./router.ts";

/** The token file contains no valid token. */
export class AdminTokenError extends Error {
  override readonly name = "AdminTokenError";

  constructor(path: string, reason: string) {
    super(`Cannot use config.adminTokenFile "${path}": ${reason}`);
  }
}

/** Reports whether the admin interface requires a token. */
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

/** Passes requests with the token to `next`; returns 401 for all others (RFC 6750 section 3). */
export function withToken(token: string, next: Handler): Handler {
  const expected = digest(token);
  return (request) => {
    const [, given] =
      /^bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    // Digests have equal lengths, so that the comparison takes constant time.
    if (given !== undefined && timingSafeEqual(digest(given), expected)) {
      return next(request);
    }
    const challenge = 'Bearer realm="gateway admin"';
    return given === undefined
      ? unauthorized("a bearer token is required", challenge)
      : unauthorized(
        "invalid bearer token",
        `${challenge}, error="invalid_token"`,
      );
  };
}

function unauthorized(reason: string, challenge: string): Response {
  return text(401, `unauthorized: ${reason}`, {
    "www-authenticate": challenge,
  });
}

function digest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}
