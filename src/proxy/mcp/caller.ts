import { createHash } from "node:crypto";
import { distinctCaller } from "../../policy/authentication/request_identity.ts";
import type { Slots } from "../../policy/contract/slot.ts";

/**
 * Returns a name for the identity of the caller, which its sessions, tasks and processes are bound to; the same for all callers
 * without one, whose session ids are all that they have.
 */
export function userOf(slots: Slots | undefined): string {
  if (slots === undefined) return nobody;
  const identity = JSON.stringify(distinctCaller(slots));
  if (identity !== latest.identity) {
    latest = { identity, name: nameOf(identity) };
  }
  return latest.name;
}

/** Many requests in a row are of one caller, or of callers without identity. */
let latest = { identity: "", name: "" };

const nobody = nameOf("[]");

function nameOf(identity: string): string {
  return createHash("sha256").update(identity).digest("base64url").slice(0, 22);
}
