import type { IdentityLease } from "../../identity/identity_store.ts";
import type { LoginState } from "../../identity/oauth/grants/login_state.ts";
import { defineSlot } from "../contract/slot.ts";
import type { RegistrationTurns } from "./endpoints/registration_turns.ts";

/** Services that `jwtAuthentication` needs. */
export interface LoginServices {
  /** Keys and metadata of identity providers. */
  readonly identity: Pick<
    IdentityLease,
    "introspector" | "keys" | "metadata" | "verifier"
  >;
  /** Logins of MCP clients at the gateway. */
  readonly logins: Omit<LoginState, "close">;
  /** Limits client registrations at identity providers. */
  readonly registrations: RegistrationTurns;
}

/** Slot of the services that `jwtAuthentication` needs. */
export const loginServices = defineSlot<LoginServices>("jwtAuthentication");
