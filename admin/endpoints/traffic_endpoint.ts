import { trafficDimensions } from "../../src/telemetry/traffic/traffic_bucket.ts";
import { trafficRanges } from "../../src/telemetry/traffic/traffic_range.ts";
import { json } from "../http/admin_responses.ts";
import { readChoice, requireKnown } from "../http/query_parameters.ts";
import type { AdminTarget } from "../target/target.ts";

/**
 * Describes the traffic of the last minutes or hours.
 * @throws {InvalidParameter}
 */
export async function showTraffic(
  { dataPlane }: AdminTarget,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  requireKnown(
    query,
    ["range", "by", "name"],
    "usage: GET /traffic?range=15m&by=route[&name=<route>]",
  );
  const range = readChoice(query, "range", trafficRanges) ?? "15m";
  const by = readChoice(query, "by", trafficDimensions) ?? "route";
  const name = query.get("name") ?? undefined;
  return json(await dataPlane.call("traffic", { range, by, name }));
}
