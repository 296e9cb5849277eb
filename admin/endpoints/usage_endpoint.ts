import type { Clock } from "../../src/base/clock.ts";
import { escapeControls } from "../../src/base/log/log_text.ts";
import { usageCsv } from "../../src/telemetry/traffic/summed_usage.ts";
import { json, respond } from "../http/admin_responses.ts";
import {
  InvalidParameter,
  readChoice,
  requireKnown,
} from "../http/query_parameters.ts";
import type { AdminTarget } from "../target/target.ts";
import {
  readUsageQuery,
  showSums,
  type UsageReport,
} from "./views/usage_sums.ts";

/** Returns who used what: sums by columns such as team and model, the largest first, as JSON or CSV. */
export async function showUsage(
  { dataPlane }: AdminTarget,
  clock: Clock,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  requireKnown(
    query,
    ["by", "since", "month", "from", "to", "per", "format"],
    "usage: GET /usage?by=team,model&month=2026-07&per=day&format=csv",
  );
  const format = readChoice(query, "format", ["json", "csv"]);
  const wanted = readUsageQuery(query, clock.now());
  const { by, from, until } = wanted;
  const sums = await dataPlane.call("usage", wanted);
  if (format === "csv") {
    return respond(200, "text/csv; charset=utf-8", usageCsv(wanted, sums));
  }
  const report: UsageReport = {
    since: new Date(from).toISOString(),
    until: new Date(Math.min(until, clock.now())).toISOString(),
    by,
    usage: showSums(sums, by),
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
