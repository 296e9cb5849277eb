import type { Clock } from "../../src/base/clock.ts";
import { isDuration, parseDuration } from "../../src/api/schema/duration.ts";
import { json } from "../http/admin_responses.ts";
import {
  InvalidParameter,
  readChoice,
  requireKnown,
} from "../http/query_parameters.ts";
import type { AdminTarget } from "../target/target.ts";
import { groups, sumBy, type UsageReport } from "./usage_report.ts";

/** Returns who used what: sums by key, model or route, the largest first. */
export async function showUsage(
  { dataPlane }: AdminTarget,
  clock: Clock,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  requireKnown(query, ["by", "since"], "usage: GET /usage?by=key&since=24h");
  const by = readChoice(query, "by", groups) ?? "key";
  const since = clock.now() - readAge(query.get("since") ?? "24h");
  const rows = await dataPlane.call("usage", since);
  const report: UsageReport = {
    since: new Date(since).toISOString(),
    by,
    usage: sumBy(rows, by),
  };
  return json(report);
}

/** Makes budgets unused, and returns how many. */
export async function resetLimits(
  { dataPlane }: AdminTarget,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  requireKnown(
    query,
    ["limit", "key"],
    "usage: POST /limits/reset?limit=<name>&key=<key>",
  );
  const entry = query.get("limit") ?? undefined;
  const key = query.get("key") ?? undefined;
  return json({ reset: await dataPlane.call("resetLimits", { entry, key }) });
}

/** Reads a duration such as `24h`, or days such as `7d`. */
function readAge(text: string): number {
  const [, days] = /^([0-9]{1,2})d$/.exec(text) ?? [];
  if (days !== undefined) return Number(days) * 86_400_000;
  if (isDuration(text)) return parseDuration(text);
  throw new InvalidParameter(
    "invalid since: expected a duration such as 24h or 7d",
  );
}
