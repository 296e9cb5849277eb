import { type IntegerRange, readInteger } from "../../http/query_parameters.ts";
import { json } from "../../http/admin_responses.ts";
import type { AdminTarget } from "../../target/target.ts";

/** Range of `limit`. */
export const taskLimit: IntegerRange = { from: 1, to: 100_000, or: 1000 };

/**
 * Returns current activity: connections, requests, upstreams, refreshes, leases, watchers; `limit` bounds the lists.
 * @throws {InvalidParameter}
 */
export async function showTasks(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const limit = readInteger(query, "limit", taskLimit);
  return json(await target.dataPlane.call("tasks", limit));
}
