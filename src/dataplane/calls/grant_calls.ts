import {
  type GrantRecord,
  type GrantSelection,
  selectGrants,
} from "../../identity/oauth/grants/grant_record.ts";
import { define } from "./data_plane_call.ts";
import type { TrafficThread } from "./traffic_thread.ts";

/** Time for which the end of a grant is remembered: no token of a grant lives longer. */
const ENDED_MS = 90 * 24 * 60 * 60_000;

/** Calls about the grants of MCP clients that log in at the gateway. All reject when the store fails. */
export const grantCalls = {
  /** Lists grants, the oldest first. */
  grants: define({
    threads: "one",
    run: async ({ state }: TrafficThread, selection: GrantSelection) =>
      selectGrants(await state.grants.list(), selection),
    merge: ([first]) => first?.part ?? [],
  }),
  /** Ends grants, for all workers and replicas; returns them. */
  endGrants: define({
    threads: "one",
    run: endGrants,
    merge: ([first]) => first?.part ?? [],
  }),
};

async function endGrants(
  { state: { grants }, clock }: TrafficThread,
  selection: GrantSelection,
): Promise<readonly GrantRecord[]> {
  const selected = selectGrants(await grants.list(), selection);
  for (const grant of selected) await grants.end(grant, clock.now() + ENDED_MS);
  return selected;
}
