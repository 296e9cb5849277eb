import { defineSlot, type Slot } from "./slot.ts";

/** Properties of an authenticated caller, by name; expressions read them. */
export type Claims = Readonly<Record<string, unknown>>;

/** Slot of the claims that one kind of policy verifies; traces and the variable in expressions have its name. */
export interface Identity extends Slot<Claims> {
  /** Name for the claims where their values are hidden: `claims`, `metadata`, `username`. */
  readonly holds: string;
  /** True if traces show only the names of the claims. */
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
