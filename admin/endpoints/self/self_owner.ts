import type { KeyOwner } from "../../../src/dataplane/keyring/key_owner.ts";
import { callerOf } from "../../access/admin_caller.ts";
import { InvalidParameter } from "../../http/query_parameters.ts";

/**
 * Returns the user who sends a request.
 * @throws {InvalidParameter} Without a login, which the role of the endpoints requires.
 */
export function ownerOf(request: Request): KeyOwner {
  const { user, team } = callerOf(request) ?? {};
  if (user === undefined || team === undefined) {
    throw new InvalidParameter("a login of config.adminLogin is required");
  }
  const { issuer, subject, name } = user;
  return { issuer, subject, name, team };
}
