import type { AdminRole } from "../../api/admin_login_schema.ts";

/** A user of the admin interface. Only issuer and subject together name one. */
export interface AdminUser {
  readonly issuer: string;
  readonly subject: string;
  /** For people. */
  readonly name: string;
}

/** A user who is logged in. */
export interface AdminSession {
  readonly user: AdminUser;
  /** `undefined` for users who have none, and may do nothing. */
  readonly role: AdminRole | undefined;
  /** Team for self-service; `undefined` for users who have none. */
  readonly team: string | undefined;
  /** For the response. */
  readonly setCookies: readonly string[];
}

/** Sessions of the admin interface cannot be checked now. */
export class AdminLoginUnavailable extends Error {
  override readonly name = "AdminLoginUnavailable";
}
