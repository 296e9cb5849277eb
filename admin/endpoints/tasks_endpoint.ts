import { type IntegerRange, readInteger } from "../query_numbers.ts";
import { json } from "../admin_responses.ts";
import type { AdminTarget } from "../target.ts";

/** How many connections and requests `limit` lists. */
export const taskLimit: IntegerRange = { from: 1, to: 100_000, or: 1000 };

/**
 * What is going on now: connections, requests, upstreams, refreshes, leases, watchers; `limit` bounds the list.
 * @throws {InvalidParameter}
 */
export async function showTasks(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const limit = readInteger(query, "limit", taskLimit);
  return json(await target.dataPlane.tasks(limit));
}
