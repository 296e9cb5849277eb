import type { Clock } from "../../src/base/clock.ts";
import { escapeControls } from "../../src/base/log_text.ts";
import { isDuration, parseDuration } from "../../src/api/schema/duration.ts";
import { json } from "../http/admin_responses.ts";
import {
  InvalidParameter,
  readChoice,
  requireKnown,
} from "../http/query_parameters.ts";
import type { AdminTarget } from "../target/target.ts";
import { groups, sumBy, type UsageReport } from "./usage_sums.ts";

/** Returns who used what: sums by key, user, team, model or route, the largest first. */
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

/** Makes budgets unused, and returns how many. Limits go by their names: one that does not exist returns 400 with those that do. */
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
  if (entry !== undefined) await expectLimit(dataPlane, entry);
  return json({ reset: await dataPlane.call("resetLimits", { entry, key }) });
}

const MAX_LISTED = 30;

/** @throws {InvalidParameter} When there is no limit of this name; the message lists the limits. */
async function expectLimit(
  dataPlane: AdminTarget["dataPlane"],
  name: string,
): Promise<void> {
  const { budgets } = await dataPlane.call("describeState");
  const names = [...new Set(budgets.map(({ entry }) => entry))];
  if (names.includes(name)) return;
  const listed = names.slice(0, MAX_LISTED).map((each) =>
    `\n  ${escapeControls(each)}`
  );
  const more = names.length > MAX_LISTED
    ? `\n  and ${names.length - MAX_LISTED} more`
    : "";
  throw new InvalidParameter(
    names.length === 0
      ? "invalid limit: the configuration has no limits"
      : `invalid limit: expected one of these:${listed.join("")}${more}`,
  );
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
