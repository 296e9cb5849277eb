import type { DescribedGrant } from "../../../src/dataplane/calls/descriptions.ts";

/** A grant, with times in ISO 8601. */
export interface GrantView
  extends Omit<DescribedGrant, "startedAt" | "usedAt"> {
  readonly startedAt: string;
  readonly usedAt: string;
}

/** Describes a grant. */
export function viewOfGrant(
  { startedAt, usedAt, ...grant }: DescribedGrant,
): GrantView {
  return {
    ...grant,
    startedAt: new Date(startedAt).toISOString(),
    usedAt: new Date(usedAt).toISOString(),
  };
}
