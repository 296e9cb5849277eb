import type { Clock } from "../../src/base/clock.ts";
import { NANO_USD } from "../../src/base/log_text.ts";
import { isDuration, parseDuration } from "../../src/api/schema/duration.ts";
import type { UsageRow } from "../../src/dataplane/data_plane.ts";
import {
  createSums,
  mergeSums,
  type RequestSums,
} from "../../src/telemetry/traffic/request_sums.ts";
import { json } from "../http/admin_responses.ts";
import {
  InvalidParameter,
  readChoice,
  requireKnown,
} from "../http/query_parameters.ts";
import type { AdminTarget } from "../target/target.ts";

const groups = ["key", "model", "route"] as const;
type Group = typeof groups[number];

/** Sums of use by key, model or route, the largest first. */
export interface UsageReport {
  /** RFC 3339. */
  readonly since: string;
  readonly by: Group;
  readonly usage: ReturnType<typeof sumBy>;
}

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
  const rows = await dataPlane.usage(since);
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
  return json({ reset: await dataPlane.resetLimits({ entry, key }) });
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

function sumBy(rows: readonly UsageRow[], by: Group) {
  const sums = new Map<string, RequestSums>();
  for (const row of rows) {
    mergeSums(sums.getOrInsertComputed(row[by], createSums), row);
  }
  return [...sums].map(([name, { nanoUsd, ...sum }]) => ({
    name,
    ...sum,
    costUsd: nanoUsd / NANO_USD,
  })).sort((a, b) => b.costUsd - a.costUsd || tokensOf(b) - tokensOf(a));
}

function tokensOf(
  { inputTokens, outputTokens }: Pick<
    RequestSums,
    "inputTokens" | "outputTokens"
  >,
): number {
  return inputTokens + outputTokens;
}
