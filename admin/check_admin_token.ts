import { createHash, timingSafeEqual } from "node:crypto";
import { isAdminToken } from "../src/api/admin_token.ts";
import type { Settings } from "../src/api/settings.ts";
import { describeReadError, readFileText } from "../src/base/regular_file.ts";
import { text } from "./admin_responses.ts";
import type { Handler } from "./router.ts";

/** The file that should hold the token does not. */
export class AdminTokenError extends Error {
  override readonly name = "AdminTokenError";

  constructor(path: string, reason: string) {
    super(`Cannot use config.adminTokenFile "${path}": ${reason}`);
  }
}

/** Whether the admin interface asks for a token. */
export function hasToken({ adminToken, adminTokenFile }: Settings): boolean {
  return adminToken !== undefined || adminTokenFile !== undefined;
}

/**
 * The token that the admin interface asks for; `undefined` when it asks for none.
 * @throws {AdminTokenError} When the file is not there, or holds something else.
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

/** Lets requests pass that have the token; 401 for the others, whatever they ask for (RFC 6750 section 3). */
export function withToken(token: string, next: Handler): Handler {
  const wanted = digest(token);
  return (request) => {
    const [, given] =
      /^bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    // Digests have one length, so that the comparison takes the same time for all tokens.
    if (given !== undefined && timingSafeEqual(digest(given), wanted)) {
      return next(request);
    }
    const challenge = 'Bearer realm="gateway admin"';
    return given === undefined
      ? refuse("asks for a bearer token", challenge)
      : refuse(
        "has another bearer token",
        `${challenge}, error="invalid_token"`,
      );
  };
}

function refuse(reason: string, challenge: string): Response {
  return text(401, `unauthorized: the admin interface ${reason}`, {
    "www-authenticate": challenge,
  });
}

function digest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}
