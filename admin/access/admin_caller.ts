import type { AdminRole } from "../../src/api/admin_login_schema.ts";
import type { AdminUser } from "../../src/gateway/admin_login/admin_login_types.ts";

/** Sender of a request to the admin interface. */
export interface AdminCaller {
  readonly access: "token" | "login";
  /** `undefined` for users who may do nothing but what their team allows. */
  readonly role?: AdminRole | undefined;
  /** Of a login. */
  readonly user?: AdminUser;
  /** Team of the user, for self-service. */
  readonly team?: string | undefined;
}

const callers = new WeakMap<Request, AdminCaller>();

/** Remembers who sends a request. */
export function setCaller(request: Request, caller: AdminCaller): void {
  callers.set(request, caller);
}

/** Returns who sends a request; `undefined` where no access is required, or a policy of the gateway decides. */
export function callerOf(request: Request): AdminCaller | undefined {
  return callers.get(request);
}
