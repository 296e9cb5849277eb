import type { PolicyContext } from "./policy.ts";
import { defineSlot } from "./slot.ts";

/** Callbacks for the end of a request. */
export const endListeners = defineSlot<(() => void)[]>("end");

/** Calls `listener` once, when the response has been delivered or given up, and nothing more is read from the backend. */
export function onEnd({ slots }: PolicyContext, listener: () => void): void {
  const present = slots.get(endListeners);
  if (present === undefined) slots.set(endListeners, [listener]);
  else present.push(listener);
}
