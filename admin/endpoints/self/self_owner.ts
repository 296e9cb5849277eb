import type { KeyOwner } from "../../../src/dataplane/keyring/key_owner.ts";
import { callerOf } from "../../access/admin_caller.ts";
import { InvalidParameter } from "../../http/query_parameters.ts";
import { readTypedJson } from "../../http/request_body.ts";

const MAX_BODY_BYTES = 1024;

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

/** Reads the body of a request that revokes something of its user. @throws {InvalidParameter} If it is not `{"action": "revoke"}`. */
export async function requireRevocation(request: Request): Promise<void> {
  const { action, ...rest } = await readTypedJson(request, MAX_BODY_BYTES);
  if (action !== "revoke" || Object.keys(rest).length > 0) {
    throw new InvalidParameter('invalid body: expected {"action": "revoke"}');
  }
}
