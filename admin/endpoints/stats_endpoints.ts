import { toOpenMetrics } from "../../src/telemetry/metrics/open_metrics.ts";
import { respond, text } from "../http/admin_responses.ts";
import type { Endpoint } from "../http/router.ts";
import type { AdminTarget } from "../target/target.ts";

const PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS =
  "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** Lists the endpoints for monitoring. */
export function statsEndpoints(
  target: AdminTarget,
): readonly Endpoint[] {
  const collectMetrics = async (request: Request) =>
    request.headers.get("accept")?.includes("application/openmetrics-text")
      ? respond(
        200,
        OPEN_METRICS,
        toOpenMetrics(await target.dataPlane.readMetrics()),
      )
      : respond(200, PROMETHEUS_TEXT, await target.dataPlane.collectMetrics());
  return [
    { path: "/metrics", methods: { GET: collectMetrics } },
    { path: "/stats/prometheus", methods: { GET: collectMetrics } },
    {
      path: "/healthz/ready",
      methods: {
        GET: () => showReadiness(target),
      },
    },
    { path: "/healthz/live", methods: { GET: () => text(200, "ok") } },
  ];
}

/** A gateway is ready while the API server is away: it serves what it read last. */
function showReadiness(target: AdminTarget): Response {
  const readiness = target.readiness();
  const problem = target.sourceProblem();
  return text(
    readiness === "ready" ? 200 : 503,
    problem === undefined ? readiness : `${readiness}\n${problem}`,
  );
}
