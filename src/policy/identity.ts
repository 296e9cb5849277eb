import { defineSlot, type Slot } from "./slot.ts";

/** Properties of an authenticated caller, by name; expressions read them. */
export type Claims = Readonly<Record<string, unknown>>;

/** Slot of the claims that one kind of policy verifies; its name is the name in traces, and of the variable of expressions. */
export interface Identity extends Slot<Claims> {
  /** Names the claims where they are not shown themselves: `claims`, `metadata`, `username`. */
  readonly holds: string;
  /** Whether traces show the names of the claims only. */
  readonly isPrivate: boolean;
}

/** Defines an identity, as a constant of a module. */
export function defineIdentity(
  name: string,
  holds = "claims",
  isPrivate = false,
): Identity {
  return { ...defineSlot<Claims>(name), holds, isPrivate };
}
